"""A model file of a table that was tampered with is refused when it is loaded, or found out when it is verified.

No file brings anything but a `ModelFileError` upon loading.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store.hostile import altered, from_bytes

import assay
from assay.errors import AssayError, ModelFileError
from assay.families import model_class
from assay.selection.table_model import fit_table
from assay.store import encode
from assay.tables.encoding import EncodingSpec
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows

CASES = {
    "logistic-regression": EncodingSpec("one-hot", True, False, True),
    "naive-bayes": EncodingSpec("native", False, True),
    "lda": EncodingSpec("reference", True),
    "gaussian-nb": EncodingSpec("codes"),
}


@lru_cache(maxsize=1)
def table() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    n = 120
    label = rng.integers(0, 2, n)
    said = ["free prize now for you", "call me later at home", "win the prize or a call", "see you at home now"]
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(label, 1.0)),
            "rings": rng.integers(1, 80, n) + 0.5,
            "tree": np.where(rng.random(n) < 0.1, None, np.array(["ash", "birch", "elm"])[rng.integers(0, 3, n)]),
            "old": rng.random(n) < 0.3,
            "day": np.datetime64("2024-01-01", "us") + rng.integers(0, 300, n).astype("timedelta64[D]"),
            "said": [said[int(k)] for k in rng.integers(0, 4, n)],
            "y": np.array(["no", "yes"])[label],
        }
    )


@lru_cache(maxsize=8)
def model_of(name: str):
    source = table_source(table())
    schema = infer(source, target="y", kinds={"said": "text"})
    return fit_table(model_class(name)(), schema, CASES[name], TableRows(source, schema, "y"))


def file_of(name: str) -> bytes:
    return encode(model_of(name).to_record())


def parts(data: bytes):
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["assay"]), data[8 + length :]


def with_document(data: bytes, doc, text: str | None = None) -> bytes:
    """The file with another document, whose hash is right."""
    header, _, body = parts(data)
    text = json.dumps(doc) if text is None else text
    header["__metadata__"] = {"assay": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + body


def load(data: bytes, folder):
    path = folder / "m.assay"
    path.write_bytes(data)
    return assay.load(path)


def outcome(data: bytes, folder) -> str:
    """'refused', 'found out' by verification (or by a table that no longer fits), or 'believed'."""
    try:
        model = load(data, folder)
    except ModelFileError as error:
        return "refused" if 10 < len(str(error)) < 2000 else f"refused with a useless message: {error}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert all([repr(model), str(model.certificate_), str(model.schema_), encode(model.to_record())])
        try:
            model.predict(table())
            return "believed" if model.certificate_.verify(table()).holds else "found out"
        except AssayError as error:
            return "found out" if len(str(error)) > 10 else f"refused with a useless message: {error}"


@pytest.mark.parametrize("name", CASES)
def test_the_untouched_file_is_believed(name, tmp_path):
    assert outcome(file_of(name), tmp_path) == "believed"
    assert load(file_of(name), tmp_path).certificate_.verify(table()).notes == ()


# --- forged: possible, but not what the rows say ----------------------------------------------------------------------

STATISTICS = ("encoding", "statistics")
COLUMNS = ("encoding", "table", "columns")


def plus_one(value):
    return value + 1


def swapped(values):
    return [values[1], values[0], *values[2:]]


def shifted(values):
    """A row that changes from one category to another: the sum stays."""
    return [values[0] - 1, values[1] + 1, *values[2:]]


FORGERIES = {
    "a mean": ((*STATISTICS, "mean", 0), lambda v: v + 1e-6),
    "a scatter": ((*STATISTICS, "m2", 1), lambda v: v * 1.0001),
    "a count of numbers": ((*STATISTICS, "present", 0), plus_one),
    "category counts": ((*STATISTICS, "levels", 0), shifted),
    "two levels exchanged": ((*STATISTICS, "levels", 0), swapped),
    "missing categories": ((*STATISTICS, "levels", 0), lambda v: [v[0] + v[-1], *v[1:-1], 0]),
    "word counts": ((*STATISTICS, "words", 1, 0), plus_one),
    "a word": ((*STATISTICS, "words", 0, 0), plus_one),
    "rows": ((*STATISTICS, "n"), plus_one),
    "a level renamed": ((*COLUMNS, 2, "levels"), ["ash", "beech", "elm"]),
    "a column renamed": ((*COLUMNS, 1, "name"), "kings"),
    "missing of the schema": ((*COLUMNS, 0, "missing"), plus_one),
    "the lower end": ((*COLUMNS, 1, "low"), lambda v: v - 1),
    "the upper end": ((*COLUMNS, 1, "high"), plus_one),
    "counts of the schema": ((*COLUMNS, 2, "counts"), lambda v: {**v, "ash": v["ash"] - 1, "elm": v["elm"] + 1}),
    "kind to boolean": ((*COLUMNS, 1, "kind"), "boolean"),
    "kind to date": ((*COLUMNS, 1, "kind"), "date"),
    "kind to id": ((*COLUMNS, 1, "kind"), "id"),
    "kind to number": ((*COLUMNS, 3, "kind"), "number"),
    "time of day": ((*COLUMNS, 4, "with_time"), True),
    "rows of the schema": (("encoding", "table", "n_rows"), plus_one),
    "columns exchanged": (COLUMNS, swapped),
    "classes of the schema": (("encoding", "table", "target", "counts"), lambda v: {k: c - 1 for k, c in v.items()}),
    "scaling": (("encoding", "wants", "scaled"), lambda v: not v),
    "categories": (("encoding", "wants", "categories"), lambda v: "one-hot" if v != "one-hot" else "codes"),
    "missing numbers": (("encoding", "wants", "missing"), lambda v: not v),
    "sparse rows": (("encoding", "wants", "sparse"), lambda v: not v),
    "a split": (("provenance", "split"), {"fraction": 0.25, "seed": 0}),
    "a split by group": (("provenance", "split"), {"fraction": 0.25, "seed": 0, "group": "tree"}),
    "a split by no column": (("provenance", "split"), {"fraction": 0.25, "seed": 0, "time": "never"}),
    "another target": (("provenance", "target"), "old"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_encoding_is_refused_or_found_out(name, forgery, tmp_path):
    if forgery == "sparse rows" and CASES[name].categories == "native":
        pytest.skip("a model that takes categories itself gets dense rows, whatever the flag says")
    path, value = FORGERIES[forgery]
    doc = parts(file_of(name))[1]
    if path[0] == "provenance":
        doc["provenance"].setdefault(path[1], None)
    wrong = altered(doc, path, value)
    assert outcome(with_document(file_of(name), wrong), tmp_path) in ("refused", "found out")


BY_THE_CLAIM = [
    "a mean", "a scatter", "a count of numbers", "category counts", "word counts", "missing of the schema", "the lower end",
    "the upper end", "counts of the schema", "rows of the schema", "classes of the schema",
]  # fmt: skip


@pytest.mark.parametrize("forgery", BY_THE_CLAIM)
def test_it_is_the_claim_about_the_encoding_that_fails(forgery, tmp_path):
    """Whatever else fails with it: a model that does not look at a column could not tell."""
    path, value = FORGERIES[forgery]
    data = file_of("gaussian-nb")
    model = load(with_document(data, altered(parts(data)[1], path, value)), tmp_path)
    (verdict,) = (v for v in model.certificate_.verify(table()) if v.claim == "encoding")
    assert not verdict.holds


@pytest.mark.parametrize("name", CASES)
def test_the_claim_about_the_encoding_can_be_neither_left_out_nor_reworded_nor_doubled(name, tmp_path):
    model = model_of(name)
    (honest,) = model._claims
    wrongs = [
        (),
        (replace(honest, statement=honest.statement.replace("nothing", "something")),),
        (replace(honest, statement="the encoding is perfect"),),
        (replace(honest, name="the encoding"),),
        (replace(honest, kind="estimate"),),
        (replace(honest, holds=False),),
        (replace(honest, value=0.0),),
        (replace(honest, bound=0.0),),
        (replace(honest, witness={"rows": 119}),),
        (replace(honest, witness={}),),
        (replace(honest, witness={"rows": 120, "more": 1}),),
        (replace(honest, witness={"rows": True}),),
        (honest, replace(honest, statement="and more")),
    ]
    for claims in wrongs:
        forged = type(model)(model.model_, model.encoding_, claims)
        forged.save(tmp_path / "m.assay")
        verdicts = assay.load(tmp_path / "m.assay").certificate_.verify(table())
        assert not verdicts.holds, claims
        assert not all(v.holds for v in verdicts if "encoding" in v.claim)


@pytest.mark.parametrize("name", CASES)
def test_other_rows_prove_nothing(name):
    rows = table()
    certificate = model_of(name).certificate_
    others = {
        "one fewer": rows.iloc[1:],
        "one twice": pd.concat([rows, rows.iloc[:1]]),
        "one changed": rows.assign(rings=np.where(np.arange(120) == 5, 3.25, rows["rings"])),
        "a category changed": rows.assign(tree=np.where(np.arange(120) == 5, "yew", rows["tree"])),
        "a word changed": rows.assign(said=np.where(np.arange(120) == 5, "free lunch", rows["said"])),
        "one value lost": rows.assign(rings=np.where(np.arange(120) == 5, np.nan, rows["rings"])),
        "a date changed": rows.assign(day=rows["day"].where(np.arange(120) != 5, pd.Timestamp("2023-05-05"))),
    }
    for what, data in others.items():
        assert not certificate.verify(data).holds, what
    assert certificate.verify(rows).holds


# --- hostile: no encoding at all --------------------------------------------------------------------------------------

HOSTILE = [
    None, True, False, -1, 0, 3, 2**31, 2**53, 2**63, 2**64, 10**30, -1.5, 0.5, 1e308, "", "x", "120", "one-hot", "a\0b", [], [None],
    [[]], [1, 2, 3], [-1], [1.5], ["1"], [True], ["a", "b"], {}, {"a": 1}, {"$": "nan"}, {"$": "inf"}, {"$": "x"}, {"$": [[1, 2]]},
    {"array": "coef"}, "__import__('os')", [[[[[]]]]],
]  # fmt: skip


def places(value, here=()):
    yield here
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*here, key))
    elif isinstance(value, list):
        for i in {0, 1, len(value) - 1} & set(range(len(value))):
            yield from places(value[i], (*here, i))


OFTEN = [name for name in CASES if name != "lda"]  # whose parts are large, and load slowly


@pytest.mark.parametrize("name", OFTEN)
def test_every_field_of_an_encoding_with_every_hostile_value(name):
    """Each is refused, or is a model that answers; most are refused. All models read it alike: they take turns with the values."""
    data = file_of(name)
    doc = parts(data)[1]
    counts = {"refused": 0, "loaded": 0, "asked": 0}
    for turn, path in enumerate(places(doc["encoding"]), start=OFTEN.index(name)):
        for value in HOSTILE[turn % 3 :: 3]:
            counts["asked"] += 1
            wrong = altered(doc, ("encoding", *path), value)
            try:
                from_bytes(with_document(data, wrong))
                counts["loaded"] += 1
            except ModelFileError as error:
                counts["refused"] += 10 < len(str(error)) < 2000
    assert counts["refused"] + counts["loaded"] == counts["asked"] > 1000
    assert counts["loaded"] < 0.25 * counts["refused"], counts


@pytest.mark.parametrize("name", CASES)
def test_entries_that_are_missing_or_unknown_are_refused(name, tmp_path):
    data = file_of(name)
    doc = parts(data)[1]
    for path in [(), ("wants",), ("statistics",), ("table",), ("table", "columns", 0)]:
        inside = doc["encoding"]
        for key in path:
            inside = inside[key]
        for key in inside:
            less = {k: v for k, v in inside.items() if k != key}
            assert outcome(with_document(data, altered(doc, ("encoding", *path), less)), tmp_path) == "refused"
        more = {**inside, "code": 1}
        assert outcome(with_document(data, altered(doc, ("encoding", *path), more)), tmp_path) == "refused"


IMPOSSIBLE = {
    "too few means": ("mean", lambda v: v[:-1]),
    "too many means": ("mean", lambda v: [*v, 0.0]),
    "nested means": ("mean", lambda v: [v]),
    "means as text": ("mean", lambda v: [str(x) for x in v]),
    "means as truth": ("mean", lambda v: [True] * len(v)),
    "a mean that is no number": ("mean", lambda v: [{"$": "nan"}, *v[1:]]),
    "an infinite mean": ("mean", lambda v: [{"$": "inf"}, *v[1:]]),
    "a negative scatter": ("m2", lambda v: [-1.0, *v[1:]]),
    "a negative count": ("present", lambda v: [-1, *v[1:]]),
    "a broken count": ("present", lambda v: [1.5, *v[1:]]),
    "a count beyond the rows": ("present", lambda v: [121, *v[1:]]),
    "counts as truth": ("present", lambda v: [True, *v[1:]]),
    "negative levels": ("levels", lambda v: [[-1, *v[0][1:]]]),
    "levels that do not add up": ("levels", lambda v: [[v[0][0] + 1, *v[0][1:]]]),
    "too few levels": ("levels", lambda v: [v[0][:-1]]),
    "levels of too many columns": ("levels", lambda v: [*v, v[0]]),
    "no levels": ("levels", []),
    "words without counts": ("words", lambda v: [v[0], v[1][:-1]]),
    "words beyond the columns": ("words", lambda v: [[*v[0][:-1], 32_768], v[1]]),
    "words out of order": ("words", lambda v: [v[0][::-1], v[1]]),
    "a word twice": ("words", lambda v: [[v[0][0], *v[0][:-1]], v[1]]),
    "more documents than rows": ("words", lambda v: [v[0], [121, *v[1][1:]]]),
    "no documents": ("words", lambda v: [v[0], [0, *v[1][1:]]]),
    "no rows": ("n", 0),
    "minus one row": ("n", -1),
    "rows as truth": ("n", True),
    "rows as text": ("n", "120"),
    "rows as a float": ("n", 120.0),
    "very many rows": ("n", 10**30),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
@pytest.mark.parametrize("name", CASES)
def test_impossible_statistics_are_refused(name, what, tmp_path):
    key, value = IMPOSSIBLE[what]
    data = file_of(name)
    wrong = altered(parts(data)[1], (*STATISTICS, key), value)
    assert outcome(with_document(data, wrong), tmp_path) == "refused"


@pytest.mark.parametrize("name", CASES)
def test_an_encoding_that_does_not_lead_to_the_model_is_refused(name, tmp_path):
    data = file_of(name)
    doc = parts(data)[1]
    others = {
        "other names": altered(doc, ("names", 0), "else"),
        "names exchanged": altered(doc, ("names",), swapped),
        "no names": {**doc, "names": None},
        "another version": altered(doc, ("encoding", "schema"), "assay.encoding/9"),
        "another way": altered(doc, ("encoding", "wants", "categories"), "hashed"),
        "no encoding in format 2": {k: v for k, v in doc.items() if k != "encoding"},
        "an encoding in format 1": {**doc, "format": 1},
        "format 3": {**doc, "format": 3},
        "a group that is no name": {
            **doc,
            "provenance": {**doc["provenance"], "split": {"fraction": 0.5, "seed": 1, "group": 5}},
        },
        "a time that is no name": {
            **doc,
            "provenance": {**doc["provenance"], "split": {"fraction": 0.5, "seed": 1, "time": ["t"]}},
        },
    }
    if doc["categories"] is not None:
        others["other categories"] = altered(doc, ("categories",), lambda v: [c and [f"{x}!" for x in c] for c in v])
    for what, wrong in others.items():
        assert outcome(with_document(data, wrong), tmp_path) == "refused", what


@pytest.mark.parametrize("want", ["missing", "sparse"])
def test_an_encoding_cannot_leave_to_a_model_what_it_does_not_take(want, tmp_path):
    """The columns would be the same, so that nothing but this shows it."""
    source = table_source(table()[["rings", "old", "y"]])
    schema = infer(source, target="y")
    lda = model_class("lda")
    assert not getattr(lda, f"takes_{want}")
    data = encode(fit_table(lda(), schema, EncodingSpec(), TableRows(source, schema, "y")).to_record())
    wrong = altered(parts(data)[1], ("encoding", "wants", want), True)
    assert outcome(with_document(data, wrong), tmp_path) == "refused"


def test_a_small_file_cannot_ask_for_much_memory(tmp_path):
    """Each column of text stands for thousands of columns; a file could list very many."""
    data = file_of("gaussian-nb")
    doc = parts(data)[1]
    text = next(c for c in doc["encoding"]["table"]["columns"] if c["kind"] == "text")
    many = [*doc["encoding"]["table"]["columns"], *({**text, "name": f"t{j}"} for j in range(20_000))]
    assert outcome(with_document(data, altered(doc, COLUMNS, many)), tmp_path) == "refused"


def test_deep_nesting_is_refused(tmp_path):
    data = file_of("gaussian-nb")
    doc = parts(data)[1]
    for depth in (70, 900, 100_000):
        text = json.dumps(altered(doc, (*STATISTICS, "mean"), "HERE")).replace('"HERE"', "[" * depth + "]" * depth)
        assert outcome(with_document(data, doc, text), tmp_path) == "refused"
        text = json.dumps(altered(doc, ("encoding", "table"), "HERE")).replace(
            '"HERE"', '{"a":' * depth + "1" + "}" * depth
        )
        assert outcome(with_document(data, doc, text), tmp_path) == "refused"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_anything_in_place_of_an_encoding_is_refused(tmp_path, value):
    data = file_of("gaussian-nb")
    doc = parts(data)[1]
    wrong = {**doc, "encoding": value}
    if value is None:
        wrong["format"] = 1  # then it is a model of arrays, and a file of its own
        wrong["claims"] = [c for c in doc["claims"] if c["check"] != "encoding"]
        assert not hasattr(load(with_document(data, wrong), tmp_path), "encoding_")
        return
    with pytest.raises(ModelFileError):
        load(with_document(data, wrong), tmp_path)
