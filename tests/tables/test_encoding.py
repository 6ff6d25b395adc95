"""An encoding gives the numbers of pandas and scikit-learn, column by column, whatever the model needs."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, diags_array
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from assay.engines import engine_for
from assay.engines.csr import SparseMatrix
from assay.tables.encoding import Encoding, EncodingSpec
from assay.tables.encoding.words import BUCKETS, bucket_names
from assay.tables.schema.schema import Schema, infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows, encode

MOST = 64
TABLES = ["adult.parquet", "titanic.csv", "penguins.csv", "german.csv", "bank_marketing.csv", "pima_missing.csv"]
SPECS = [
    EncodingSpec(categories, scaled, missing)
    for categories in ("one-hot", "reference", "native", "codes")
    for scaled, missing in ((False, False), (True, False), (True, True))
]


def table(data_dir, name: str) -> pd.DataFrame:
    path = data_dir / name
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def learnt(fit: Any, encoding_spec: EncodingSpec, schema: Schema | None = None, **asked: Any) -> Encoding:
    source = table_source(fit)
    schema = schema or infer(source, **asked)
    rows = TableRows(source, schema)
    return Encoding.learn(engine_for(rows), schema, encoding_spec, rows)


def encoded(encoding: Encoding, data: Any) -> np.ndarray:
    X = encode(TableRows(table_source(data), encoding.schema).in_memory(), encoding).X
    return X.toarray() if isinstance(X, SparseMatrix) else X


def columns(encoding: Encoding, data: Any) -> dict[str, np.ndarray]:
    """The encoded columns by name, but those of texts and strings."""
    X = encoded(encoding, data)
    assert X.shape[1] == len(encoding.outputs)
    textual = {c.name for c in encoding.groups.texts}
    return {o.name: X[:, j] for j, o in enumerate(encoding.outputs) if o.source not in textual}


# --- what is expected, by other means ---------------------------------------------------------------------------------


def expected(
    schema: Schema, encoding_spec: EncodingSpec, fit: pd.DataFrame, data: pd.DataFrame
) -> dict[str, np.ndarray]:
    """The encoded columns by name, in order: numbers, indicators, categories."""
    numbers: dict[str, np.ndarray] = {}
    indicators: dict[str, np.ndarray] = {}
    categories: dict[str, np.ndarray] = {}
    for column in schema.used:
        name = column.name
        if column.kind in ("number", "boolean"):
            a, b = (frame[[name]].astype(float).to_numpy() for frame in (fit, data))
            numbers[name] = _number(a, b, encoding_spec, column.kind == "number")
            if not encoding_spec.missing and np.isnan(a).any() and not np.isnan(a).all():
                marks = MissingIndicator(features="all").fit(a).transform(b)
                indicators[f"{name} is missing"] = marks[:, 0].astype(float)
        elif column.kind == "category":
            categories |= _category(name, column.levels, _text(fit[name]), _text(data[name]), encoding_spec.categories)
    return numbers | indicators | categories


def _number(a: np.ndarray, b: np.ndarray, encoding_spec: EncodingSpec, moved: bool) -> np.ndarray:
    scaler = StandardScaler().fit(np.zeros((1, 1)) if np.isnan(a).all() else a)
    filled = b if encoding_spec.missing else SimpleImputer(keep_empty_features=True).fit(a).transform(b)
    return (scaler.transform(filled) if encoding_spec.scaled and moved else filled)[:, 0]


def _text(values: pd.Series) -> pd.Series:
    return values.astype(object).where(values.notna(), None).map(lambda v: v if v is None else str(v))


def _category(name: str, levels: Any, fit: pd.Series, data: pd.Series, how: str) -> dict[str, np.ndarray]:
    if how in ("native", "codes"):
        codes = data.map({level: float(k) for k, level in enumerate(levels)}).astype(float)
        return {name: codes.to_numpy() if how == "native" else codes.fillna(-1.0).to_numpy()}
    counts = fit.value_counts()
    frequent = sorted(counts.index, key=lambda level: (-counts[level], level))
    kept, missing = sorted(frequent[:MOST]), bool(fit.isna().any())
    rest = len(frequent) > MOST
    if how == "reference":
        kept = [level for level in kept if level != frequent[0]]
    elif len(kept) == 2 and not missing:
        kept = kept[1:]
    hot = OneHotEncoder(categories=[kept], handle_unknown="ignore", sparse_output=False)
    given = data.where(data.notna(), "\0 missing").to_numpy(object).reshape(-1, 1)
    X = hot.fit(np.array(kept, object).reshape(-1, 1)).transform(given) if kept else np.empty((len(data), 0))
    found = {f"{name}={level}": X[:, k] for k, level in enumerate(kept)}
    if rest:
        found[f"{name} (other)"] = (~data.isin(frequent[:MOST]) & data.notna()).to_numpy(float)
    if missing:
        found[f"{name} is missing"] = data.isna().to_numpy(float)
    return found


def compare(found: dict[str, np.ndarray], due: dict[str, np.ndarray]) -> None:
    assert list(found) == list(due)
    for name, column in due.items():
        scale = max(1.0, float(np.nanmax(np.abs(column), initial=0.0)))
        np.testing.assert_allclose(found[name], column, rtol=1e-10, atol=1e-10 * scale, err_msg=name)


# --- real tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding_spec", SPECS, ids=lambda w: "-".join(map(str, w)))
@pytest.mark.parametrize("name", TABLES)
def test_real_tables_become_the_numbers_of_scikit_learn(data_dir, name, encoding_spec):
    data = table(data_dir, name)
    schema = infer(table_source(data), target="target")
    fit = data.iloc[: len(data) * 2 // 3]
    encoding = learnt(fit, encoding_spec, schema)
    compare(columns(encoding, data), expected(schema, encoding_spec, fit, data))


@pytest.mark.parametrize("name", ["adult.parquet", "pima_missing.csv"])
def test_rows_encoded_as_they_are_read_have_the_bits_of_rows_in_memory(data_dir, name):
    whole = table(data_dir, name)
    for encoding_spec in (EncodingSpec("one-hot", True, False), EncodingSpec("native", False, True)):
        encoding = learnt(whole, encoding_spec)
        parts = encode(TableRows(table_source(whole), encoding.schema), encoding).blocks()
        streamed = [part.load().X for part in parts]
        assert all(X.flags.c_contiguous for X in streamed)
        np.testing.assert_array_equal(np.concatenate(streamed), encoded(encoding, whole), strict=True)


@pytest.mark.parametrize("name", ["adult.parquet", "titanic.csv", "german.csv"])
def test_sparse_rows_hold_the_same_numbers_but_are_not_centred(data_dir, name, monkeypatch):
    """Zeros would not stay zeros: a number is divided by its deviation, and a missing one is the mean, divided likewise."""
    monkeypatch.setattr("assay.tables.encoding.encoding.WIDE", 2)
    data = table(data_dir, name)
    encoding = learnt(data, EncodingSpec("one-hot", True, False, True), target="target")
    assert encoding.sparse
    due = expected(encoding.schema, EncodingSpec("one-hot", True), data, data)
    for j, output in enumerate(encoding.outputs):
        if output.role == "number" and encoding.schema[output.source].kind == "number":
            due[output.name] = due[output.name] + encoding.statistics.mean[j] / encoding.statistics.deviation[j]
    compare(columns(encoding, data), due)


def test_messages_become_hashed_words_weighed_as_scikit_learn_weighs_them(data_dir):
    data = table(data_dir, "sms_spam.csv").iloc[:1200]
    fit = data.iloc[:900]
    encoding = learnt(fit, EncodingSpec(sparse=True), infer(table_source(data), target="target"))
    (text,) = (c.name for c in encoding.schema.used if c.kind == "text")
    kept = np.flatnonzero(_in_two_texts(_counts(fit[text])))
    assert encoding.names == tuple(bucket_names(text, encoding.schema[text].words, kept))
    due = _weighed_words(fit[text], data[text])[:, kept].toarray()
    found = encoded(encoding, data)
    np.testing.assert_allclose(found, due, atol=1e-12)
    length = np.linalg.norm(found, axis=1)
    assert np.all(np.isclose(length, 1.0) | (length == 0.0))
    assert (length == 0).mean() < 0.01


@pytest.mark.parametrize("scaled", [True, False])
def test_dense_columns_of_messages_are_the_leading_singular_directions_of_scipy(data_dir, scaled):
    data = table(data_dir, "sms_spam.csv").iloc[:1200]
    fit = data.iloc[:900]
    encoding = learnt(fit, EncodingSpec(scaled=scaled), infer(table_source(data), target="target"))
    (text,) = (c.name for c in encoding.schema.used if c.kind == "text")
    used = np.flatnonzero(_in_two_texts(_counts(fit[text])))  # singular directions are zero in columns of zeros
    A, asked = (_weighed_words(fit[text], texts)[:, used].toarray() for texts in (fit[text], data[text]))
    found = encoded(encoding, data)
    assert found.shape[1] == 30
    V = np.linalg.svd(A, full_matrices=False)[2][:30].T
    leading = [np.corrcoef(found[:, k], asked @ V[:, k])[0, 1] for k in range(4)]
    assert np.abs(leading).min() > 0.99  # the first are parted well; of all together the length counts
    if scaled:
        np.testing.assert_allclose(found[:900].mean(axis=0), 0.0, atol=1e-9)
        assert abs((found[:900] ** 2).sum() / 900 - 1.0) < 1e-9
    else:
        assert (found[:900] ** 2).sum() > 0.99 * ((A @ V) ** 2).sum()


def _counts(texts: pd.Series) -> csr_matrix:
    words = CountVectorizer(token_pattern=r"(?u)[^\W]{2,}")
    X = words.fit_transform(texts.fillna(""))
    hashed = np.array([zlib.crc32(w.encode()) % BUCKETS for w in words.get_feature_names_out()])
    fold = csr_matrix((np.ones(len(hashed)), (np.arange(len(hashed)), hashed)), (len(hashed), BUCKETS))
    return csr_matrix(X @ fold)


def _in_two_texts(counts: csr_matrix) -> np.ndarray:
    return np.asarray((counts > 0).sum(axis=0)).ravel() >= 2


def _weighed_words(fit: pd.Series, data: pd.Series) -> csr_matrix:
    learnt_from, asked = _counts(fit), _counts(data)
    X = TfidfTransformer(norm=None).fit(learnt_from).transform(asked) @ diags_array(_in_two_texts(learnt_from) * 1.0)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return csr_matrix(diags_array(1 / np.maximum(length, 1e-300)) @ X)


# --- any table --------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["ash", "birch", "elm", "oak", "yew", None])
NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6).map(lambda v: round(v, 3)))


@st.composite
def frames(draw):
    n = draw(st.integers(1, 40))
    rows = {
        "size": draw(st.lists(NUMBERS, min_size=n, max_size=n)),
        "tree": draw(st.lists(WORDS, min_size=n, max_size=n)),
        "old": draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        "age": draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)),
    }
    return pd.DataFrame(rows).astype({"size": float, "tree": object})


KINDS = {"size": "number", "tree": "category", "old": "boolean", "age": "number"}


@given(frames(), st.data(), st.sampled_from(SPECS))
def test_any_table_and_any_training_rows_give_the_numbers_of_scikit_learn(frame, data, encoding_spec):
    """Statistics come from the training rows alone; the schema, and with it the levels, from the whole table."""
    schema = infer(table_source(frame), kinds=KINDS)
    seen = sorted(data.draw(st.sets(st.integers(0, len(frame) - 1), min_size=1)))
    fit = frame.iloc[seen]
    encoding = learnt(fit, encoding_spec, schema)
    compare(columns(encoding, frame), expected(schema, encoding_spec, fit, frame))


@given(frames(), st.data())
def test_rows_that_are_not_learnt_from_change_nothing(frame, data):
    schema = infer(table_source(frame), kinds=KINDS)
    encoding = learnt(frame, EncodingSpec("one-hot", True), schema)
    which = data.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=10))
    np.testing.assert_array_equal(encoded(encoding, frame.iloc[which]), encoded(encoding, frame)[which])
