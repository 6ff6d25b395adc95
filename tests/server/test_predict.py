"""`POST /predict`: rows in the forms that people have them in."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import pytest

import assay
from tests.server.conftest import COLUMNS, customers
from tests.server.running import Running, serving

TABLE = customers(40, seed=9).drop(["churn"])
ROWS = TABLE.to_pylist()
PATH = "/models/linear/predict"
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
STREAM, FILE = "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"


def as_csv(table: pa.Table) -> bytes:
    out = io.BytesIO()
    arrow_csv.write_csv(table, out)
    return out.getvalue()


def as_arrow(table: pa.Table, opened: Any = ipc.new_stream) -> bytes:
    out = io.BytesIO()
    with opened(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def as_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


BODIES = {
    CSV: as_csv(TABLE),
    PARQUET: as_parquet(TABLE),
    STREAM: as_arrow(TABLE),
    FILE: as_arrow(TABLE, ipc.new_file),
    "application/json": json.dumps(ROWS).encode(),
    "application/x-ndjson": b"\n".join(json.dumps(row).encode() for row in ROWS),
}


def read(kind: str, data: bytes) -> list[Any]:
    """The predictions of an answer."""
    if kind == "application/json":
        return [row["prediction"] for row in json.loads(data)]
    if kind == "application/x-ndjson":
        return [json.loads(line)["prediction"] for line in data.splitlines()]
    if kind == CSV:
        head, *lines = data.decode().splitlines()
        assert head == "prediction"
        return lines
    table = parquet.read_table(io.BytesIO(data)) if kind == PARQUET else ipc.open_stream(data).read_all()
    return table["prediction"].to_pylist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def wanted(models: Path) -> list[Any]:
    return assay.load(models / "linear.assay").predict(TABLE).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", BODIES)
def test_answers_come_in_the_form_of_the_rows(server: Running, wanted: list[Any], kind: str) -> None:
    found = server.client.post(PATH, content=BODIES[kind], headers={"content-type": kind})
    assert found.status_code == 200, found.text
    given = found.headers["content-type"]
    assert given == (STREAM if kind == FILE else kind)
    assert read(given, found.content) == wanted


@pytest.mark.parametrize(
    "accept", [CSV, PARQUET, STREAM, "application/json", f"image/png, {CSV};q=0.5, {STREAM};q=0.9"]
)
@pytest.mark.parametrize("kind", ["application/json", PARQUET])
def test_accept_asks_for_another_form(server: Running, wanted: list[Any], kind: str, accept: str) -> None:
    found = server.client.post(PATH, content=BODIES[kind], headers={"content-type": kind, "accept": accept})
    assert read(found.headers["content-type"], found.content) == wanted
    assert found.headers["content-type"] in accept


def test_columns_and_arrays_are_json_too(server: Running, wanted: list[Any]) -> None:
    by_column = {name: [row[name] for row in ROWS] for name in COLUMNS}
    assert server.ask(PATH, by_column).json() == {"prediction": wanted}
    assert [row["prediction"] for row in server.ask(PATH, [list(row.values()) for row in ROWS]).json()] == wanted


def test_what_curl_sends_unless_told_otherwise_is_json(server: Running, wanted: list[Any]) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = server.client.post(PATH, content=json.dumps(ROWS), headers=headers)
    assert [row["prediction"] for row in answer.json()] == wanted


def test_columns_that_the_model_does_not_know_are_left_alone(server: Running, wanted: list[Any]) -> None:
    more = [{"name": "x", **row, "nested": {"a": [1]}} for row in ROWS]
    assert [row["prediction"] for row in server.ask(PATH, more).json()] == wanted


def test_outputs_threshold_and_neighbours_are_parameters(server: Running, models: Path) -> None:
    found = server.ask(f"{PATH}?outputs=prediction,probabilities,decision&threshold=0.9", ROWS).json()
    P = assay.load(models / "linear.assay").predict_proba(TABLE)
    np.testing.assert_array_equal([[row["p(leaves)"], row["p(stays)"]] for row in found], P)
    assert (
        [row["abstained"] for row in found]
        == [row["prediction"] is None for row in found]
        == (P.max(axis=1) < 0.9).tolist()
    )
    near = server.ask("/models/near/predict?outputs=neighbours,distances&n_neighbors=2", ROWS[:1]).json()
    assert list(near[0]) == ["neighbour1", "neighbour2", "distance1", "distance2"]
    csv = server.client.post(f"{PATH}?threshold=0.9", content=BODIES[CSV], headers={"content-type": CSV, "accept": CSV})
    assert [line.startswith(",") for line in csv.text.splitlines()[1:]] == (P.max(axis=1) < 0.9).tolist()
    arrow = server.client.post(f"{PATH}?threshold=0.9", content=BODIES[STREAM], headers={"content-type": STREAM})
    assert (
        ipc.open_stream(arrow.content).read_all()["prediction"].is_null().to_pylist() == (P.max(axis=1) < 0.9).tolist()
    )


def test_a_regression_answers_numbers(server: Running, models: Path) -> None:
    found = server.ask("/models/income/predict", [{"age": 30}, {"age": None}]).json()
    assert [row["prediction"] for row in found] == assay.load(models / "income.assay").predict(
        [{"age": 30.0}, {"age": None}]
    ).tolist()


def test_dates_and_texts_come_as_the_table_had_them(server: Running, models: Path) -> None:
    rows = [{"day": "2024-02-03", "words": "red fox"}, {"day": None, "words": "blue"}]
    wanted = assay.load(models / "dated.assay").predict(rows).tolist()
    assert [row["prediction"] for row in server.ask("/models/dated/predict", rows).json()] == wanted
    assert server.ask("/models/dated/predict", {n: [row[n] for row in rows] for n in rows[0]}).json() == {
        "prediction": wanted
    }
    lines = server.client.post(
        "/models/dated/predict",
        content=b"\n".join(json.dumps(r).encode() for r in rows),
        headers={"content-type": "application/x-ndjson"},
    )
    assert read("application/x-ndjson", lines.content) == wanted


def test_a_packed_body_is_unpacked(server: Running, wanted: list[Any]) -> None:
    headers = {"content-type": CSV, "content-encoding": "gzip"}
    found = server.client.post(PATH, content=gzip.compress(BODIES[CSV]), headers=headers)
    assert read(CSV, found.content) == wanted
    assert server.client.post(PATH, content=gzip.compress(BODIES[CSV])[:-20], headers=headers).status_code == 400
    assert server.client.post(PATH, content=b"no gzip", headers=headers).status_code == 400


def test_a_model_of_arrays_takes_tables_with_columns_x0_x1_and_so_on(server: Running, models: Path) -> None:
    X = np.random.default_rng(0).normal(size=(4, 3))
    wanted = assay.load(models / "bare.assay").predict(X).tolist()
    assert [r["prediction"] for r in server.ask("/models/bare/predict", X.tolist()).json()] == wanted
    table = pa.table({f"x{j}": X[:, j] for j in range(3)})
    found = server.client.post("/models/bare/predict", content=as_arrow(table), headers={"content-type": STREAM})
    assert read(STREAM, found.content) == wanted


def test_a_table_larger_than_memory_is_meant_for_goes_through_a_file(server: Running, models: Path) -> None:
    table = customers(150_000, seed=2).drop(["churn"])
    body = as_csv(table)
    assert len(body) > 5e6
    wanted = assay.load(models / "linear.assay").predict(table).tolist()
    for kind, data in ((CSV, body * 1), (STREAM, as_arrow(pa.concat_tables([table] * 3)))):
        found = server.client.post(PATH, content=data, headers={"content-type": kind})
        assert read(kind, found.content) == wanted * (3 if kind == STREAM else 1)


def test_the_only_model_needs_no_name(models: Path) -> None:
    with serving(models / "linear.assay") as alone:
        assert alone.ask("/predict", ROWS[:1]).status_code == 200
        assert alone.ask("/certificate").json()["name"] == "linear"


def test_several_models_need_a_name(server: Running) -> None:
    found = server.ask("/predict", ROWS[:1])
    assert found.status_code == 404
    assert "'linear'" in found.json()["detail"]
    assert found.headers["content-type"] == "application/problem+json"


def test_the_certificate_is_that_of_the_model(server: Running, models: Path) -> None:
    found = server.ask("/models/linear/certificate").json()
    certificate = assay.load(models / "linear.assay").certificate_
    assert found["holds"] == certificate.holds
    assert [c["name"] for c in found["claims"]] == [c.name for c in certificate]
    assert found["target"] == "churn"


BAD: dict[str, tuple[str, bytes, int]] = {
    "no json": ("application/json", b"{oops", 400),
    "bad utf-8": ("application/json", b'[{"age": "\xff\xfe"}]', 400),
    "nan": ("application/json", b'[{"age": NaN, "income": 1, "member": true, "plan": "pro"}]', 400),
    "a huge number": ("application/json", b'[{"age": 1e999, "income": 1, "member": true, "plan": "pro"}]', 400),
    "a huge whole number": (
        "application/json",
        b'[{"age": 1' + b"0" * 5000 + b', "income": 1, "member": true, "plan": "pro"}]',
        400,
    ),
    "deep": ("application/json", b"[" * 50_000 + b"]" * 50_000, 400),
    "deep objects": ("application/json", b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400),
    "deep in a column that is not used": ("application/json", b'[{"z":' + b"[" * 50_000 + b"]" * 50_000 + b"}]", 400),
    "a number alone": ("application/json", b"3", 400),
    "nothing": ("application/json", b"", 400),
    "no rows": ("application/json", b"[]", 400),
    "no columns": ("application/json", b"[{}]", 400),
    "a column is not there": ("application/json", b'[{"age": 1}]', 400),
    "ragged columns": ("application/json", b'{"age": [1, 2], "income": [1], "member": [true], "plan": ["pro"]}', 400),
    "ragged rows": ("application/json", b"[[1, 2, true], [1]]", 400),
    "a list for a value": ("application/json", b'[{"age": [1], "income": 1, "member": true, "plan": "pro"}]', 400),
    "text for a number": ("application/json", b'[{"age": "old", "income": 1, "member": true, "plan": "pro"}]', 400),
    "two for a truth": ("application/json", b'[{"age": 1, "income": 1, "member": 2, "plan": "pro"}]', 400),
    "csv that is parquet": (CSV, BODIES[PARQUET], 400),
    "empty csv": (CSV, b"", 400),
    "csv without rows": (CSV, b"age,income,member,plan\n", 400),
    "csv with a word for a number": (CSV, b"age,income,member,plan\nold,1,true,pro\n", 400),
    "packed csv": (CSV, gzip.compress(BODIES[CSV]), 400),
    "parquet cut short": (PARQUET, BODIES[PARQUET][:-50], 400),
    "parquet of noise": (PARQUET, b"PAR1" + bytes(range(256)) * 9 + b"PAR1", 400),
    "arrow cut short": (STREAM, BODIES[STREAM][:-200], 400),
    "arrow of noise": (STREAM, b"\xff\xff\xff\xff" + bytes(range(256)), 400),
    "a form": ("application/x-www-form-urlencoded", b"a=1", 400),
    "HTML": ("text/html", b"<p>", 415),
    "no type": ("", b"[]", 415),
}


@pytest.mark.parametrize("why", BAD)
def test_what_cannot_be_answered_is_refused_and_the_server_lives(server: Running, why: str) -> None:
    kind, body, status = BAD[why]
    found = server.client.post(PATH, content=body, headers={"content-type": kind} if kind else {})
    assert found.status_code == status, found.text
    assert found.json()["status"] == status
    assert found.json()["detail"]
    assert "/tmp" not in found.text
    assert server.ask(PATH, ROWS[:1]).status_code == 200


@pytest.mark.parametrize("query", ["outputs=colour", "threshold=2", "threshold=x", "n_neighbors=0", "what=1", "outputs=neighbours", "%ff=%ff", "a=b&&", "outputs=abstained"])  # fmt: skip
def test_parameters_that_cannot_be_are_refused(server: Running, query: str) -> None:
    assert server.ask(f"{PATH}?{query}", ROWS[:1]).status_code == 400


def test_a_form_that_is_not_known_cannot_be_answered_in(server: Running) -> None:
    assert server.ask(PATH, ROWS[:1], headers={"accept": "image/png"}).status_code == 406
    assert server.ask(PATH, ROWS[:1], headers={"accept": "application/*"}).status_code == 200
