"""The short way from JSON to numbers gives the very bits of the long way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.server.decoding import PIECE, ExpectedColumn, NotPlain, RowDecoder
from assay.server.served import ServedModel
from assay.tables.bodies import source_of_columns
from tests.server.conftest import COLUMNS, customers

NUMBER = st.none() | st.floats(-1e6, 1e6) | st.integers(-(2**53), 2**53)
ROW = st.fixed_dictionaries(
    {"age": NUMBER, "income": NUMBER, "member": st.none() | st.booleans(), "plan": st.none() | st.text(max_size=4) | st.sampled_from(["basic", "plus", "pro"])}
)  # fmt: skip


def long_way(served: ServedModel, rows: list[dict[str, Any]]) -> Any:
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    return served.table_rows(source_of_columns(columns))


@pytest.fixture(scope="module", params=["linear", "forest", "near", "bayes"])
def served(request: pytest.FixtureRequest, models: Path) -> ServedModel:
    return ServedModel(request.param, "1", models / f"{request.param}.assay")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(ROW, min_size=1, max_size=5))
def test_a_few_rows_get_the_same_bits_either_way(served: ServedModel, rows: list[dict[str, Any]]) -> None:
    X, form = served.read_json(json.dumps(rows).encode())
    assert form == "rows"
    for ask in ("predict", "predict_proba"):
        short, long = getattr(served.learner, ask)(served.rows(X)), getattr(served.learner, ask)(long_way(served, rows))
        np.testing.assert_array_equal(short, long)


def test_many_rows_get_the_same_bits_either_way_and_in_every_form(served: ServedModel) -> None:
    rows = customers(3000, seed=5).drop(["churn"]).to_pylist()
    body = json.dumps(rows).encode()
    assert len(body) > 3 * PIECE
    X, _ = served.read_json(body)
    arrays, form = served.read_json(json.dumps([list(row.values()) for row in rows]).encode())
    columns, _ = served.read_json(json.dumps({n: [row[n] for row in rows] for n in COLUMNS}).encode())
    assert form == "arrays"
    np.testing.assert_array_equal(X, arrays)
    np.testing.assert_array_equal(X, columns)
    np.testing.assert_array_equal(served.read_json.lines(b"\n".join(json.dumps(r).encode() for r in rows)), X)
    np.testing.assert_array_equal(
        served.learner.predict_proba(served.rows(X)), served.learner.predict_proba(long_way(served, rows))
    )


PLAIN_COLUMNS = (ExpectedColumn("a", "number"), ExpectedColumn("b é", "number"), ExpectedColumn("c", "boolean"))
FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)
PLAIN_ROW = st.tuples(st.none() | FINITE, st.none() | FINITE, st.none() | st.booleans())


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(PLAIN_ROW, min_size=1, max_size=4),
    gap=st.sampled_from(["", " ", "\n\t"]),
    times=st.sampled_from([1, 2000]),
)
def test_numbers_are_read_to_the_last_bit_in_every_form_and_length(rows: list[Any], gap: str, times: int) -> None:
    wanted = np.array([[np.nan if v is None else float(v) for v in row] for row in rows] * times)
    objects = [dict(zip((c.name for c in PLAIN_COLUMNS), row)) for row in rows] * times
    read = RowDecoder(PLAIN_COLUMNS)
    for data in (rows * times, objects, [dict(reversed(row.items())) for row in objects]):
        body = json.dumps(data, separators=(f"{gap},{gap}", f"{gap}:{gap}")).encode() + gap.encode()
        found, _ = read(body)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "digits",
    ["18446744073709551616", "36893488147419103232", "0.18446744073709551616", "1" * 25, "1e5", "1E-7", "-0", "0.0"],
)
def test_more_digits_than_a_word_holds_are_not_taken_for_another_number(digits: str) -> None:
    assert RowDecoder(PLAIN_COLUMNS)(f"[[{digits}, 1, true]]".encode())[0][0, 0] == float(digits)


WRONG = ["01", "1.", ".5", "+1", "1.e5", "1e", "1e+", "-", "--1", "nul", "NaN", "Infinity", "1e999", "0x1", '"1"', "[1]", "{}", "", "1 2", "true", "1,", "\x00"]  # fmt: skip


@pytest.mark.parametrize("token", WRONG)
def test_what_is_no_number_is_never_read_as_one(token: str) -> None:
    many = "[1, 2, false], " * 6000
    for body in (f"[[{token}, 1, true]]", f"[{many}[1, {token}, true], [1, 2, false]]", f"[[1, 2, true], [1, {token}"):
        with pytest.raises((NotPlain, msgspec.DecodeError)):
            RowDecoder(PLAIN_COLUMNS)(body.encode())


@pytest.mark.parametrize(
    "body",
    ["", "[", "[]", "[[]]", "[[1, 2, true]", "[[1, 2, true],]", "[[1, 2, true]] 3", "[[1, 2, true, 4]]", "[[1, 2]]", "[[1, 2, 1]]", "[[1, 2, tru]]", "[[1, 2, true] [1, 2, true]]"],
)  # fmt: skip
def test_what_is_no_table_is_never_read_as_one(body: str) -> None:
    for padded in (body, body.replace("[[", "[" + "[1, 2, true], " * 6000 + "[", 1)):
        with pytest.raises((NotPlain, msgspec.DecodeError)):
            RowDecoder(PLAIN_COLUMNS)(padded.encode())


def test_text_that_looks_like_the_end_of_a_row_does_not_cut_a_body(models: Path) -> None:
    served = ServedModel("linear", "1", models / "linear.assay")
    rows = [{"age": i, "income": 2.5, "member": True, "plan": '},{"age": 1}, {' * 20} for i in range(1000)]
    X, _ = served.read_json(json.dumps(rows).encode())
    assert X[:, 0].tolist() == list(range(1000))
    assert set(X[:, 3]) == {-1.0}


@pytest.mark.parametrize(
    "body",
    [
        b'[{"age": "41", "income": 1, "member": true, "plan": "pro"}]',
        b'[{"age": 41, "income": 1, "member": 1, "plan": "pro"}]',
        b'[{"age": 41, "income": 1, "plan": "pro"}]',
        b"[]",
        b'{"age": [1, 2], "income": [1], "member": [true], "plan": ["pro"]}',
    ],
)
def test_what_is_not_plain_is_left_to_the_long_way(models: Path, body: bytes) -> None:
    with pytest.raises(NotPlain):
        ServedModel("linear", "1", models / "linear.assay").read_json(body)


@pytest.mark.parametrize("body", [b"[{", b'[{"age": 1e999}]', b"[nan]", b"\xff\xfe", b"[1] 2", b"[" * 100_000])
def test_what_is_no_json_is_an_error(models: Path, body: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, RecursionError, NotPlain, UnicodeDecodeError)):
        ServedModel("linear", "1", models / "linear.assay").read_json(body)


def test_a_small_request_needs_no_compiler(models: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from assay.server.served import ServedModel; from assay.server.predict import predict;"
        "from assay.server.bodies import Body; s = ServedModel('m', '1', Path(sys.argv[1])); b = Body(1000);"
        'b.add(b\'[{"age": 41, "income": 1, "member": true, "plan": "pro"}]\'); print(predict(s, b, "json", None, s.usual, 9).body);'
        "assert not {'numba', 'scipy', 'duckdb', 'pandas'} & set(sys.modules)"
    )
    for name in ("linear", "near", "bayes"):
        found = subprocess.run(
            [sys.executable, "-c", code, str(models / f"{name}.assay")], capture_output=True, text=True, timeout=60
        )
        assert found.returncode == 0, found.stderr
        assert "prediction" in found.stdout


def test_columns_of_one_name_are_left_to_the_slow_way():
    """A file may say so: the struct of a row cannot have two fields of one name."""
    assert not RowDecoder((ExpectedColumn("a", "number"), ExpectedColumn("a", "number"))).possible
