"""The compiled reader of long bodies gives what JSON says, to the last bit, or nothing at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.server import long_rows as long
from assay.server.expected import Expected
from assay.server.quick_rows import QuickRows
from assay.server.served import Served
from tests.server.conftest import customers

COLUMNS = (Expected("a", "number"), Expected("b é", "number"), Expected("c", "boolean"))
NAMES = [c.name for c in COLUMNS]
FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)
ROWS = st.lists(st.tuples(st.none() | FINITE, st.none() | FINITE, st.none() | st.booleans()), min_size=1, max_size=4)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    long.LOOP.load()


def read(body: bytes, objects: bool = False) -> Any:
    return long.long_rows(COLUMNS, body, objects)


@settings(max_examples=300, deadline=None)
@given(rows=ROWS, gap=st.sampled_from(["", " ", "\n\t"]), ascii_only=st.booleans())
def test_rows_are_those_of_the_usual_way_or_left_to_it(rows: list[Any], gap: str, ascii_only: bool) -> None:
    wanted, _ = QuickRows(COLUMNS)(json.dumps(rows).encode())
    apart = (f"{gap},{gap}", f"{gap}:{gap}")
    as_objects = [dict(zip(NAMES, row)) for row in rows]
    for data, objects in ((rows, False), (as_objects, True)):
        body = json.dumps(data, separators=apart, ensure_ascii=ascii_only).encode()
        found = read(gap.encode() + body + gap.encode(), objects)
        assert found is None or np.array_equal(found, wanted, equal_nan=True)


def test_usual_numbers_are_not_left_to_the_usual_way() -> None:
    rows = [[x, y, i % 2 == 0] for i, (x, y) in enumerate(np.random.default_rng(0).normal(size=(1000, 2)).tolist())]
    np.testing.assert_array_equal(read(json.dumps(rows).encode()), np.array(rows, dtype=np.float64))
    other = json.dumps([dict(zip(NAMES[::-1], row[::-1])) for row in rows], ensure_ascii=False).encode()
    np.testing.assert_array_equal(read(other, objects=True), np.array(rows, dtype=np.float64))


@pytest.mark.parametrize(
    "digits",
    ["18446744073709551616", "36893488147419103232", "0.18446744073709551616", "1" * 25, "1e5", "1E-7", "-0", "0.0"],
)
def test_more_digits_than_a_word_holds_are_not_taken_for_another_number(digits: str) -> None:
    found = read(f"[[{digits}, 1, true]]".encode())
    assert found is None or found[0, 0] == float(digits)


WRONG = ["01", "1.", ".5", "+1", "1.e5", "1e", "1e+", "-", "--1", "nul", "NaN", "Infinity", "1e999", "0x1", '"1"', "[1]", "{}", "", "1 2", "true", "1,", "\x00"]  # fmt: skip


@pytest.mark.parametrize("token", WRONG)
def test_what_is_no_number_is_left_to_the_usual_way(token: str) -> None:
    for body in (f"[[{token}, 1, true]]", f"[[1, {token}, true], [1, 2, false]]", f"[[1, 2, true], [1, {token}"):
        assert read(body.encode()) is None
        with pytest.raises(Exception):  # noqa: B017 - NotPlain or one of msgspec's
            QuickRows(COLUMNS)(body.encode())


@pytest.mark.parametrize(
    "body",
    ["", "[", "[]", "[[]]", "[[1, 2, true]", "[[1, 2, true],]", "[[1, 2, true]] 3", "[[1, 2, true, 4]]", "[[1, 2]]", "[[1, 2, 1]]", "[[1, 2, tru]]", "[[1, 2, true] [1, 2, true]]", "[" * 1000],
)  # fmt: skip
def test_what_is_no_table_is_left_to_the_usual_way(body: str) -> None:
    assert read(body.encode()) is None
    assert read(body.encode(), objects=True) is None


def test_a_server_that_has_loaded_it_answers_the_same(models: Path) -> None:
    served = Served("income", "1", models / "income.assay")
    rows = [{"age": value} for value in customers(40_000, seed=3)["age"].to_pylist()]
    body = msgspec.json.encode(rows)
    assert len(body) > long.LONG
    assert long.long_rows(served.columns, body, True) is not None
    np.testing.assert_array_equal(
        served.read_json(body)[0][:, 0], [np.nan if r["age"] is None else r["age"] for r in rows]
    )
