"""JSON lines: types found in the first megabytes, nested objects as a.b, errors that name line and column."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import assay
from assay.errors import DataError, SchemaError
from assay.tables.sources.recognise import source_of


def table_of(source, reading="as it is"):
    return pa.Table.from_batches(list(source.batches(dict.fromkeys(source.types, reading), 1000)))


def opened(tmp_path, text):
    path = tmp_path / "t.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return source_of(path)


def test_members_become_columns_and_objects_within_are_named_by_their_way(tmp_path):
    source = opened(
        tmp_path,
        '{"size": 1, "at": {"town": "Köln", "place": {"x": 0.5}}, "new": true}\n'
        '\n{"size": 2.5, "at": {"town": null, "place": {"x": 1}}}\n{"at": null, "extra": "e"}\n',
    )
    assert table_of(source).to_pydict() == {
        "size": [1, 2.5, None],
        "at.town": ["Köln", None, None],
        "at.place.x": [0.5, 1, None],
        "new": [True, None, None],
        "extra": [None, None, "e"],
    }


def test_columns_are_read_alone_and_in_the_order_asked_for(tmp_path):
    source = opened(tmp_path, '{"a": {"b": 1, "c": 2}, "d": "x"}\n')
    (batch,) = source.batches({"d": "text", "a.c": "number"}, 10)
    assert batch.to_pydict() == {"d": ["x"], "a.c": [2.0]}
    assert batch.schema.field("a.c").type == pa.float64()


@pytest.mark.parametrize("compress", [gzip.compress, bytes, lambda text: b"\xef\xbb\xbf" + text])
@pytest.mark.parametrize("array", [False, True])
def test_arrays_of_objects_marks_and_compression_are_read(tmp_path, compress, array):
    frame = pd.DataFrame({"x": [1.5, 2.5, 3.5], "text": ["a\nb", '"', "é"]})
    text = json.dumps(frame.to_dict("records"), indent=2) if array else frame.to_json(orient="records", lines=True)
    source = opened(tmp_path, compress(text.encode()))
    assert table_of(source).to_pydict() == frame.to_dict("list")


def test_whole_numbers_may_go_on_as_decimals_in_a_later_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.tables.sources.json_lines.GUESSED_FROM", 100)
    monkeypatch.setattr("assay.tables.sources.json_lines.READ_AT_ONCE", 100)
    source = opened(tmp_path, '{"x": 1}\n' * 100 + '{"x": 2.5}\n')
    assert table_of(source, "number")["x"].to_pylist() == [1.0] * 100 + [2.5]
    with pytest.raises(DataError, match=r"'x' should hold int64.* holds 2.5 in line 101 of .*--kind x=category"):
        table_of(source)


def test_a_later_line_of_another_type_names_line_and_column(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"'a\.b' holds a number in the first lines .* a string in line 4"):
        opened(tmp_path, '{"a": {"b": 1}}\n\n{"a": {"b": 2}}\n{"a": {"b": "x"}}\n')
    monkeypatch.setattr("assay.tables.sources.json_lines.GUESSED_FROM", 100)
    monkeypatch.setattr("assay.tables.sources.json_lines.READ_AT_ONCE", 100)
    source = opened(tmp_path, '{"a": {"b": 1}, "c": "x"}\n' * 50 + '\n{"a": {"b": "oops"}}\n')
    with pytest.raises(DataError, match=r"'a\.b' should hold double.*'oops' in line 52 of"):
        table_of(source, "number")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": 2\n', "Line 2 of .* is not valid JSON"),
        ('{"a": 1}\n[1, 2]\n', "Line 2 of .* is not an object"),
        ('{"a": 1, "a": 2}\n', "Line 1 of .*"),
        ("{}\n{}\n", "objects without members"),
        ("[]", "is empty"),
        ('[{"a": 1}, {"a": 2}', "not valid JSON"),
        ('{\n  "a": 1\n}\n{\n  "a": 1,\n}\n', "is not valid JSON .*every line has to be one object"),
    ],
)
def test_what_is_not_an_object_a_line_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        table_of(opened(tmp_path, text))


def test_names_that_nesting_would_make_equal_are_refused(tmp_path):
    with pytest.raises(SchemaError, match=r"two columns named 'a\.b'"):
        opened(tmp_path, '{"a.b": 1, "a": {"b": 2}}\n')


def test_an_array_within_a_line_is_refused_where_it_is_asked_for(tmp_path):
    opened(tmp_path, '{"x": 1, "history": [1, 2], "y": 0}\n{"x": 2, "history": [], "y": 1}\n')
    with pytest.raises(DataError, match=r"'history' holds list.*Flatten it"):
        list(assay.rows(tmp_path / "t.jsonl", target="y").blocks())
    X = assay.rows(tmp_path / "t.jsonl", target="y", features=["x"]).in_memory().X
    assert X.tolist() == [[1], [2]]


def test_a_fit_from_json_lines_is_the_fit_from_csv(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=500), "c": rng.choice(["a", "b"], 500), "y": rng.integers(0, 2, 500)})
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True, double_precision=15)
    frame = pd.read_json(tmp_path / "t.jsonl", lines=True)
    frame.to_csv(tmp_path / "t.csv", index=False)
    loaded = [assay.rows(tmp_path / name, target="y").in_memory() for name in ("t.jsonl", "t.csv")]
    assert np.allclose(loaded[0].X, loaded[1].X, rtol=0, atol=1e-14)
    assert np.array_equal(loaded[0].y, loaded[1].y)
    assert loaded[0].categories == loaded[1].categories == (None, ("a", "b"))
