"""Strings with many values: told apart from text and ids, counted, and encoded by the target without a row's own target in its mean."""

from __future__ import annotations

import json
import uuid

import numpy as np
import pyarrow as pa
import pytest

from assay.engines import MaskedRows, some_rows
from assay.engines.engine import Stream, Threads
from assay.errors import ModelFileError
from assay.tables.encoding import Encoding, EncodingSpec, from_data, to_data
from assay.tables.encoding.strings import PARTS, SHRINKAGE, part_of
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows, encode, encode_some

RNG = np.random.default_rng(0)
CITIES = [
    f"{a}{b}" for a in ("Bal", "Kor", "Min", "Tul", "Ven") for b in ("burg", "field", "holm", "stadt", "ville", "wick")
]


def cities(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(2)
    at = rng.integers(0, len(CITIES), n)
    city = [None if rng.random() < 0.1 else CITIES[k] for k in at]
    return pa.table(
        {"x": rng.normal(size=n), "city": city, "y": np.where(rng.random(n) < 0.1 + 0.8 * (at % 2), "yes", "no")}
    )


def kind_of(values) -> tuple[str, str]:
    column = infer(table_source({"x": values}))["x"]
    return column.kind, column.why


def test_names_codes_addresses_texts_and_ids_are_told_apart():
    rng, n = np.random.default_rng(1), 300
    names = [CITIES[k] + str("xyz"[k % 3]) + CITIES[j][:2] for k, j in rng.integers(0, len(CITIES), (n, 2))]
    codes = [f"{'ABC'[k % 3]}-{k}" for k in rng.integers(0, 200, n)]
    pages = [f"https://shop.example/{CITIES[k].lower()}/{i}" for i, k in enumerate(rng.integers(0, 5, n))]
    parts = [f"{['red', 'green', 'blue'][k]}-{i:05}" for i, k in enumerate(rng.integers(0, 3, n))]
    said = [f"{CITIES[k]} is far from {CITIES[j]} and me {i}" for i, (k, j) in enumerate(rng.integers(0, 30, (n, 2)))]
    assert kind_of(names)[0] == "string"
    assert "different names in 300 rows" in kind_of(names)[1]
    assert kind_of(codes)[0] == "string"
    assert "different codes in 300 rows" in kind_of(codes)[1]
    assert kind_of(pages) == ("string", "300 different addresses in 300 rows")
    assert kind_of(parts)[0] == "string"
    assert kind_of(said)[0] == "text"
    ids = [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(n)]
    assert kind_of(ids)[0] == kind_of([f"cust-{i:05}" for i in range(n)])[0] == "id"


SPEC = EncodingSpec("one-hot", False, target="classes")


def opened(data: pa.Table, engine=None):
    source = table_source(data)
    schema = infer(source, target="y", kinds={"city": "string"})
    return (engine or Threads(1)).open(TableRows(source, schema, "y")), schema


def learnt(data: pa.Table, spec: EncodingSpec = SPEC, mask=None, engine=None) -> Encoding:
    rows, schema = opened(data, engine)
    return Encoding.learn(
        engine or Threads(1), schema, spec, rows if mask is None else some_rows(rows, MaskedRows(mask))
    )


def column(encoding: Encoding, rows, name: str) -> np.ndarray:
    return np.asarray(rows.in_memory().X)[:, encoding.names.index(name)]


def test_new_rows_get_the_shrunk_mean_of_all_rows_and_the_log_of_their_number():
    data = cities()
    encoding = learnt(data)
    rows = encode(opened(data)[0], encoding)
    city, yes = np.array(data["city"].to_pylist(), object), np.array(data["y"].to_pylist()) == "yes"
    for name in (CITIES[0], CITIES[7]):
        here = city == name
        due = (yes[here].sum() + SHRINKAGE * yes.mean()) / (here.sum() + SHRINKAGE)
        np.testing.assert_allclose(column(encoding, rows, "city (share of yes)")[here], due)
        np.testing.assert_allclose(column(encoding, rows, "city (rows, log)")[here], np.log(here.sum()))
    missing = city == None  # noqa: E711
    np.testing.assert_array_equal(column(encoding, rows, "city is missing"), missing)
    np.testing.assert_allclose(column(encoding, rows, "city (share of yes)")[missing], yes.mean())


def test_a_row_of_the_fit_is_encoded_without_its_own_target():
    data = cities()
    before = encode(opened(data)[0], learnt(data), of_fit=True)
    for i in (0, 5, 17):
        y = data["y"].to_pylist()
        y[i] = "no" if y[i] == "yes" else "yes"
        other = data.set_column(2, "y", pa.array(y))
        encoding = learnt(other)
        after = encode(opened(other)[0], encoding, of_fit=True)
        means = [column(encoding, rows, "city (share of yes)") for rows in (before, after)]
        same = part_of(0, 300) == part_of(0, 300)[i]
        np.testing.assert_allclose(means[0][same], means[1][same], atol=1e-15)
        assert not np.allclose(means[0], means[1])


def test_parts_are_of_about_equal_size():
    counts = np.bincount(part_of(0, 10_000), minlength=PARTS)
    assert counts.min() > 1900
    assert counts.max() < 2100
    np.testing.assert_array_equal(part_of(0, 100)[40:], part_of(40, 60))


@pytest.mark.parametrize("spec", [SPEC, EncodingSpec("one-hot", True, sparse=True, target="classes")])
def test_threads_and_stream_encode_the_rows_of_a_fit_with_the_same_bits(monkeypatch, spec):
    for module in ("engines.rows", "engines.derived", "tables.table_rows"):
        monkeypatch.setattr(f"assay.{module}.SPARSE_BLOCK", 64)
    data, mask = cities(), np.arange(300) % 3 > 0
    found = []
    for engine in (Threads(2), Stream()):
        encoding = learnt(data, spec, mask, engine)
        X = encode_some(opened(data, engine)[0], encoding, mask, of_fit=True).in_memory().X
        found.append((json.dumps(to_data(encoding)), X.toarray() if spec.sparse else X))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1], strict=True)


def test_numbers_and_many_classes_have_their_means():
    rng = np.random.default_rng(3)
    data = cities().set_column(2, "y", pa.array(rng.normal(size=300)))
    assert "city (mean target)" in learnt(data, SPEC._replace(target="number")).names
    many = cities().set_column(2, "y", pa.array([f"class {k}" for k in rng.integers(0, 25, 300)]))
    assert sum("share of" in name for name in learnt(many).names) == 10


def test_a_stored_encoding_gives_the_same_numbers_to_rows_of_the_fit_and_others():
    data = cities()
    encoding = learnt(data, SPEC._replace(scaled=True))
    again = from_data(json.loads(json.dumps(to_data(encoding))))
    assert again.names == encoding.names
    for of_fit in (False, True):
        X, Y = (encode(opened(data)[0], e, of_fit).X for e in (encoding, again))
        np.testing.assert_array_equal(X, Y, strict=True)


DAMAGES = [
    lambda s: s.update(keys=s["keys"][::-1]),
    lambda s: s.update(keys=[0.5, *s["keys"][1:]]),
    lambda s: s.update(counts=s["counts"][:-1]),
    lambda s: s.update(counts=[[10**6] * PARTS, *s["counts"][1:]]),
    lambda s: s.update(sums=[[["x"]] * PARTS, *s["sums"][1:]]),
    lambda s: s.update(sums=[[[float("inf")]] * PARTS, *s["sums"][1:]]),
    lambda s: s.update(parts=[0] * PARTS),
    lambda s: s.update(labels=[1]),
    lambda s: s.update(labels=[]),
    lambda s: s.update(missing=-1),
    lambda s: s.update(missing=True),
    lambda s: s.update(scale=[0.0, 1.0]),
    lambda s: s.pop("mean"),
    lambda s: s.clear(),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_values_that_do_not_fit_together_are_refused(damage):
    data = to_data(learnt(cities()))
    damage(data["statistics"]["strings"][0])
    with pytest.raises(ModelFileError):
        from_data(data)


def test_strings_without_values_are_refused():
    data = to_data(learnt(cities()))
    for strings in ([], None, [data["statistics"]["strings"][0]] * 2):
        with pytest.raises(ModelFileError):
            from_data({**data, "statistics": {**data["statistics"], "strings": strings}})
    with pytest.raises(ModelFileError):
        from_data({**data, "schema": "assay.encoding/1"})
