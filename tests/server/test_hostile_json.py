"""JSON that goes wrong in ways of its own: numbers that are none, or too long, far too many names. The right 4xx in words, soon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import DataError
from assay.http.replies import Refusal
from assay.server.bodies import Body
from assay.server.decoding import names_of_first
from assay.server.predict import FORMS, predict
from assay.server.schemas import refusal_of
from assay.server.served import ServedModel
from tests.server.running import Running, serving

ROW = {"age": 41, "income": 1.0, "member": True, "plan": "pro"}
LINEAR = "/models/linear/predict"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def served(models: Path) -> ServedModel:
    return ServedModel("linear", "1", models / "linear.assay")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'[{"age": NaN, "income": 1, "member": true, "plan": "pro"}]', "write null"),
        (b'[{"age": -Infinity, "income": 1, "member": true, "plan": "pro"}]', "write null"),
        (b'[{"age": %b, "income": 1, "member": true, "plan": "pro"}]' % (b"9" * 400), "too large"),
        (b"", "empty"),
    ],
)
def test_what_is_no_number_is_told_so(server: Running, body: bytes, words: str) -> None:
    reply = server.client.post(LINEAR, content=body, headers=JSON)
    assert reply.status_code == 400
    assert words in reply.json()["detail"]


def test_a_text_with_those_words_is_not_taken_for_one(server: Running) -> None:
    reply = server.client.post(LINEAR, content=b'[{"plan": "a,NaN"}', headers=JSON)
    assert reply.status_code == 400
    assert "malformed" in reply.json()["detail"] or "truncated" in reply.json()["detail"]


def test_a_long_whole_number_is_a_number(server: Running) -> None:
    as_text = {**ROW, "age": "41"}  # so that it is read the long way
    short, long = ({**as_text, "income": income} for income in (1e20, 10**20))
    found = [server.ask(f"{LINEAR}?outputs=probabilities", [row]).json() for row in (short, long)]
    assert found[0] == found[1]


def test_a_length_of_thousands_of_digits_is_none(server: Running) -> None:
    headers = {"inference-header-content-length": "9" * 5000}
    assert server.client.post("/v2/models/bare/infer", content=b"{}", headers=headers).status_code == 400


def test_columns_that_are_left_alone_may_hold_anything(server: Running) -> None:
    as_text = {**ROW, "age": "41"}
    wanted = server.ask(LINEAR, [as_text] * 2).json()
    assert server.ask(LINEAR, [{**as_text, "more": 1}, {**as_text, "more": {"a": ["x"]}}]).json() == wanted


NAMES = [f"c{i}" for i in range(200_000)]  # twenty times what is taken
MANY_NAMES = {
    "rows": ("application/json", lambda: json.dumps([dict.fromkeys(NAMES, 1)])),
    "rows besides those it knows": ("application/json", lambda: json.dumps([{**ROW, "age": "41", **dict.fromkeys(NAMES, 1)}])),
    "rows of other names each": ("application/json", lambda: json.dumps([{name: 1} for name in NAMES])),
    "columns": ("application/json", lambda: json.dumps({name: [1] for name in NAMES})),
    "lines": ("application/x-ndjson", lambda: json.dumps(dict.fromkeys(NAMES, 1))),
    "csv": ("text/csv", lambda: ",".join(NAMES) + "\n" + ",".join(["1"] * len(NAMES))),
}  # fmt: skip


@pytest.mark.parametrize("form", MANY_NAMES)
def test_far_too_many_names_are_refused_in_words_before_they_are_read(served: ServedModel, form: str) -> None:
    kind, text = MANY_NAMES[form]
    body = Body(1 << 30)
    body.add(text().encode())
    with pytest.raises((DataError, Refusal), match="more than 10004 columns") as refused:
        predict(served, body, FORMS[kind], None, served.usual, 1_000_000)
    assert refusal_of(refused.value).status == 400


def test_the_names_of_the_first_row_are_counted_without_reading_it() -> None:
    row = {"a": ":", 'b": ': [":", {"c": 1}], "d": {"e": 1}, "f\\": 1}
    for body in ([row, {"g": 1}], row, [[":", ":"]], {"a": [":"] * 9}):
        count = names_of_first(json.dumps(body).encode(), 3)
        assert count in (0, 1) if body != row and body != [row, {"g": 1}] else count == 4


def test_far_too_many_names_are_answered_by_the_service(server: Running) -> None:
    body = json.dumps([dict.fromkeys(NAMES, 1)]).encode()
    reply = server.client.post(LINEAR, content=body, headers=JSON)
    assert reply.status_code == 400
    assert "more than 10004 columns" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("query", "words"),
    [("n_neighbors=3", "how many neighbours are listed"), ("threshold=0.5", "threshold needs probabilities")],
)
def test_a_parameter_without_effect_is_refused(server: Running, query: str, words: str) -> None:
    reply = server.ask(f"/models/income/predict?{query}", [[41]])
    assert reply.status_code == 400
    assert words in reply.json()["detail"]


def test_what_numpy_warns_of_is_a_line_of_json_too(models) -> None:
    with serving(models) as running:
        assert running.ask(LINEAR, [{**ROW, "age": 1e308, "income": -1e308}]).status_code in (200, 400)
        assert running.stop() == 0
    assert all(isinstance(json.loads(line), dict) for line in running.log)
