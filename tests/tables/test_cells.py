"""Cells of delimited text: numbers are correctly rounded, and every table is the one that Arrow's parser reads."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from assay.compiled import jit
from assay.tables.loops import read_number
from assay.tables.sources.delimited import DelimitedFiles
from assay.tables.sources.plain_csv import PlainParser
from assay.tables.sources.recognise import source_of


@jit
def first_number(codes):
    return read_number(codes, np.uint64(0), np.uint8(ord(".")))


def number(text):
    """What is read of a text, or NaN where something is left over."""
    found, behind = first_number(np.frombuffer(text.encode() + b"\n\n", np.uint8))
    return found if behind == len(text) else np.nan


@settings(max_examples=1500, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(9007199254740993.0)
@example(5e-324)
@example(1.7976931348623157e308)
def test_what_python_writes_is_read_back_bit_for_bit_or_left_open(x):
    for text in (repr(x), f"{x:.17g}", f"{x:.17e}"):
        found = number(text)
        assert np.isnan(found) or (found == x and np.signbit(found) == np.signbit(x))
        if 1e-60 < abs(x) < 1e60:
            assert not np.isnan(found)


@settings(max_examples=1500, deadline=None)
@given(st.integers(0, 10**19 - 1), st.integers(-60, 60))
@example(9007199254740993, 0)  # halfway between two floats: to even
@example(9007199254740995, 0)
@example(900719925474099300, -2)
@example(1, 23)
def test_nineteen_digits_and_an_exponent_give_the_nearest_float(w, q):
    assert number(f"{w}e{q}") == float(f"{w}e{q}")
    assert number(f"-0.00{w}e{q}") == float(f"-0.00{w}e{q}")


@pytest.mark.parametrize(
    "text", ["", "-", ".", "e5", "1e", "1e+", "--1", "1.2.3", "+1", " 1", "1 ", "inf", "nan", "0x1", "1" * 20]
)
def test_what_is_no_plain_number_is_left_open(text):
    assert np.isnan(number(text))


CELLS = st.one_of(
    st.sampled_from(
        ["", "1", "-2.5", "3e2", ".5", "5.", "NA", "?", "null", " 1", "1 ", "inf", "-", '"7"', '""', '"NA"', "007"]
    ),
    st.floats(-1e9, 1e9).map(repr),
)
TEXTS = st.sampled_from(
    ["red", "", "NA", "é", "a b", '"x,y"', '"x\ny"', '"say ""hi"""', '5" pipe', "-", "None", " ", '""']
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(CELLS, TEXTS, st.sampled_from(["1", "-5", "", "12"])), min_size=1, max_size=12),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
)
def test_the_table_is_the_one_that_arrow_reads_or_none(tmp_path_factory, rows, end, last_end):
    text = end.join(["x,c,n", "1,red,1", *map(",".join, rows)]) + (end if last_end else "")
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    path.write_bytes(text.encode())
    source = source_of(path, delimiter=",")
    assume(isinstance(source, DelimitedFiles))  # one of 1.125 alone leaves open what its point means
    columns = {"n": "as it is", "c": "text", "x": "number"}
    dtypes = {name: source._type(name, reading) for name, reading in columns.items()}
    parser = PlainParser(source.names, dtypes, ",", source.point, source._missing_numbers)
    found = parser.parse(text.encode().partition(end.encode())[2])
    try:
        expected = pa.Table.from_batches(list(source.batches(columns, 100)))
    except ValueError:
        assert found is None
        return
    if found is not None:
        found.validate(full=True)
        assert found.to_pydict() == expected.to_pydict()
        assert found.schema.equals(expected.schema)


def test_a_long_file_is_read_by_the_loop_and_equals_the_short_way(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [
        f"{a!r};{b};{c}"
        for a, b, c in zip(rng.normal(size=5000).tolist(), rng.integers(0, 9, 5000), rng.choice(["a", "NA", "ö"], 5000))
    ]
    (tmp_path / "t.csv").write_text("\n".join(["x;n;c", *lines, "inf;3;a", *lines]), encoding="utf-8")
    source = source_of(tmp_path / "t.csv")
    columns = {"x": "number", "n": "as it is", "c": "text"}
    monkeypatch.setattr("assay.tables.sources.delimited.READ_AT_ONCE", 10_000)
    short = pa.Table.from_batches(list(source.batches(columns, 100)))
    monkeypatch.setattr("assay.tables.sources.delimited.LONG", 0)
    calls = []
    parse = PlainParser.parse

    def counted(self, text):
        table = parse(self, text)
        calls.append(table)
        return table

    monkeypatch.setattr(PlainParser, "parse", counted)
    assert pa.Table.from_batches(list(source.batches(columns, 100))).equals(short)
    assert sum(table is None for table in calls) == 1  # the piece with the infinite value
    assert len(calls) > 5


SCRIPT = """
import pyarrow as pa
from assay.tables.sources.plain_csv import PlainParser
parser = PlainParser(["x", "c", "y"], {"x": pa.float64(), "c": pa.string()}, ",", ".", ())
print(parser.parse(b'1.5,red,2\\n-0.27399270792130564,"b c",3\\nNA,,\\n1e-30,NA,4').to_pydict())
"""


def test_the_loop_gives_the_same_without_the_compiler():
    def output(**more):
        run = [sys.executable, "-W", "ignore", "-c", SCRIPT]
        return subprocess.run(run, env={**os.environ, **more}, capture_output=True, text=True, check=True).stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
    assert "-0.27399270792130564" in output()
