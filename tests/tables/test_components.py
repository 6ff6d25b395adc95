"""Components of texts: the same bits on every engine, learnt from the rows of the fit alone, stored whole, named by their words."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from assay.engines import MaskedRows, some_rows
from assay.engines.engine import Stream, Threads
from assay.errors import ModelFileError
from assay.tables.encoding import Encoding, EncodingSpec, from_data, to_data
from assay.tables.encoding import components as module
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows, encode

SPEC = EncodingSpec("one-hot", True)
WORDS = np.array(["oak", "ash", "elm", "birch", "beech", "larch", "pine", "fir", "yew", "rowan", "hazel", "alder"])


def table(n: int = 400, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    said = [" ".join(WORDS[rng.geometric(0.2, 5) % 12]) for _ in range(n)]
    noted = [None if rng.random() < 0.3 else " ".join(WORDS[rng.integers(0, 12, 4)]) for _ in range(n)]
    return pa.table({"size": rng.normal(size=n), "said": said, "noted": noted})


KINDS = {"said": "text", "noted": "text"}


def learnt(data: pa.Table, engine=None, mask=None) -> Encoding:
    source = table_source(data)
    schema = infer(source, kinds=KINDS)
    engine = engine or Threads(1)
    rows = engine.open(TableRows(source, schema))
    return Encoding.learn(engine, schema, SPEC, rows if mask is None else some_rows(rows, MaskedRows(mask)))


def bits(encoding: Encoding) -> str:
    return json.dumps(to_data(encoding))


def test_threads_and_stream_give_the_same_bits(monkeypatch):
    monkeypatch.setattr("assay.engines.rows.SPARSE_BLOCK", 64)
    monkeypatch.setattr("assay.tables.table_rows.SPARSE_BLOCK", 64)
    monkeypatch.setattr("assay.engines.derived.SPARSE_BLOCK", 64)
    data = table()
    mask = np.arange(400) % 3 > 0
    for keep in (None, mask):
        found = {bits(learnt(data, engine, keep)) for engine in (Threads(1), Threads(3), Stream())}
        assert len(found) == 1


def test_of_many_rows_every_so_many_th_is_learnt_from(monkeypatch):
    monkeypatch.setattr(module, "MOST_GATHERED", 150)  # 400 rows: every third
    data = table()
    whole = learnt(data).statistics
    every = learnt(data.take(np.arange(0, 400, 3))).statistics
    assert whole.texts[0].V.shape == (12, 6)  # of 134 rows
    assert every.texts[0].V.shape == (12, 6)
    assert whole.documents.sum() > 2 * every.documents.sum()


def test_a_stored_encoding_gives_the_same_numbers_and_names():
    data = table()
    encoding = learnt(data)
    again = from_data(json.loads(bits(encoding)))
    rows = TableRows(table_source(data), encoding.schema).in_memory()
    np.testing.assert_array_equal(encode(rows, encoding).X, encode(rows, again).X, strict=True)
    assert encoding.names == again.names
    assert encoding.names[1].startswith('said ~ 1: "')
    assert {o.source for o in encoding.outputs if o.role == "component"} == {"said", "noted"}


def test_one_row_alone_is_encoded_as_among_others():
    data = table()
    encoding = learnt(data)
    rows = TableRows(table_source(data), encoding.schema).in_memory()
    for i in (0, 7, 399):
        np.testing.assert_array_equal(encoding(rows.X[i : i + 1]), encoding(rows.X)[i : i + 1], strict=True)


def test_text_without_a_word_in_two_rows_has_no_components():
    data = pa.table({"size": [1.0, 2.0, 3.0], "said": ["one two", "three four", "five six"], "noted": ["a", "b", "c"]})
    assert learnt(data).names == ("size",)


DAMAGES = [
    lambda t: t.update(V=t["V"][:-8]),
    lambda t: t.update(V="!" + t["V"]),
    lambda t: t.update(buckets=t["buckets"][::-1]),
    lambda t: t.update(buckets=[*t["buckets"][:-1], 1 << 15]),
    lambda t: t.update(mean=[*t["mean"], 0.0]),
    lambda t: t.update(mean=[float("nan"), *t["mean"][1:]]),
    lambda t: t.update(spread=0.0),
    lambda t: t.update(spread=True),
    lambda t: t.update(more=1),
    lambda t: t.pop("mean"),
    lambda t: t.clear(),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_components_that_do_not_fit_together_are_refused(damage):
    data = to_data(learnt(table()))
    damage(data["statistics"]["texts"][0])
    with pytest.raises(ModelFileError):
        from_data(data)


@pytest.mark.parametrize("texts", [None, [], {}, "no", [1, 2]])
def test_lists_of_components_that_are_none_are_refused(texts):
    data = to_data(learnt(table()))
    data["statistics"]["texts"] = texts
    with pytest.raises(ModelFileError):
        from_data(data)


def test_an_encoding_of_the_first_version_folds_words_into_256_columns():
    data = to_data(learnt(table()))
    del data["statistics"]["texts"], data["statistics"]["strings"], data["wants"]["target"]
    encoding = from_data({**data, "schema": "assay.encoding/1"})
    X = encode(TableRows(table_source(table()), encoding.schema).in_memory(), encoding).X
    assert X.shape == (400, 1 + 2 * 256)
    length = np.linalg.norm(X[:, 1:257], axis=1)
    assert np.all(np.isclose(length, 1.0))
