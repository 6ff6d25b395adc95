"""The Open Inference Protocol V2, asked of a real server."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from tests.server.conftest import COLUMNS, customers
from tests.server.running import Running

ROWS = customers(7, seed=3).drop(["churn"]).to_pylist()
KINDS = {"age": "FP64", "income": "FP64", "member": "BOOL", "plan": "BYTES"}


def tensor(name: str, datatype: str, data: list[Any], shape: list[int] | None = None) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape or [len(data)], "data": data}


def columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [tensor(name, KINDS[name], [row[name] for row in rows]) for name in COLUMNS]


def outputs(answer: dict[str, Any]) -> dict[str, Any]:
    return {o["name"]: o for o in answer["outputs"]}


def test_the_server_says_who_it_is_and_that_it_lives(server: Running) -> None:
    assert server.ask("/v2").json() == {
        "name": "assay",
        "version": assay.__version__,
        "extensions": ["binary_tensor_data"],
    }
    assert server.ask("/v2/health/live").json() == {"live": True}
    assert server.ask("/v2/health/ready").json() == {"ready": True, "live": True}
    assert server.client.head("/v2/health/ready").status_code == 200


def test_metadata_name_what_a_model_takes_and_gives(server: Running) -> None:
    for path in ("/v2/models/linear", "/v2/models/linear/versions/1"):
        found = server.ask(path).json()
        assert found["name"] == "linear"
        assert found["versions"] == ["1"]
        assert [(i["name"], i["datatype"], i["shape"]) for i in found["inputs"]] == [
            (n, KINDS[n], [-1]) for n in COLUMNS
        ]
        assert [o["name"] for o in found["outputs"]] == ["label", "probabilities", "abstained", "decision"]
        assert found["parameters"]["classes"] == ["leaves", "stays"]
    assert server.ask("/v2/models/linear/ready").json() == {"name": "linear", "ready": True}
    assert [o["name"] for o in server.ask("/v2/models/income").json()["outputs"]] == ["value"]


@pytest.mark.parametrize("path", ["/v2/models/nope", "/v2/models/linear/versions/7", "/v2/models/nope/infer"])
def test_an_unknown_model_or_version_is_404_with_an_error(server: Running, path: str) -> None:
    found = server.ask(path, {"inputs": [tensor("a", "FP64", [1])]} if path.endswith("infer") else None)
    assert found.status_code == 404
    assert set(found.json()) == {"error"}


def test_a_tensor_a_column_gives_the_models_own_answers(server: Running, models: Path) -> None:
    model = assay.load(models / "linear.assay")
    asked = [{"name": name} for name in ("probabilities", "label", "decision")]
    found = server.ask("/v2/models/linear/infer", {"id": "a-1", "inputs": columns(ROWS), "outputs": asked}).json()
    assert found["id"] == "a-1"
    assert [o["name"] for o in found["outputs"]] == ["probabilities", "label", "decision"]
    by_name = outputs(found)
    assert by_name["label"]["data"] == model.predict(ROWS).tolist()
    assert by_name["label"]["datatype"] == "BYTES"
    assert by_name["probabilities"]["shape"] == [7, 2]
    np.testing.assert_array_equal(by_name["probabilities"]["data"], model.predict_proba(ROWS).ravel())
    np.testing.assert_array_equal(by_name["decision"]["data"], model.decision_function(ROWS))


def test_columns_may_be_shaped_n_by_1_in_any_order_and_null_is_missing(server: Running, models: Path) -> None:
    rows = [dict(row, age=None) for row in ROWS[:2]]
    inputs = [
        dict(t, shape=[2, 1], data=[[v] for v in t["data"]], parameters={"content_type": "pd"}) for t in columns(rows)
    ]
    found = server.ask("/v2/models/linear/infer", {"inputs": inputs[::-1]}).json()
    assert outputs(found)["label"]["data"] == assay.load(models / "linear.assay").predict(rows).tolist()
    assert "id" not in found


def test_numbers_may_come_as_text_and_truths_as_numbers(server: Running, models: Path) -> None:
    inputs = columns(ROWS)
    inputs[1] = tensor("income", "BYTES", [repr(row["income"]) for row in ROWS])
    inputs[2] = tensor("member", "UINT8", [int(row["member"]) for row in ROWS])
    found = server.ask("/v2/models/linear/infer", {"inputs": inputs}).json()
    assert outputs(found)["label"]["data"] == assay.load(models / "linear.assay").predict(ROWS).tolist()


@pytest.mark.parametrize("nested", [False, True])
def test_one_tensor_can_hold_all_columns_of_numbers(server: Running, models: Path, nested: bool) -> None:
    X = np.random.default_rng(0).normal(size=(4, 3))
    data = X.tolist() if nested else X.ravel().tolist()
    asked = {"inputs": [tensor("x", "FP64", data, [4, 3])], "outputs": [{"name": "label"}, {"name": "probabilities"}]}
    found = outputs(server.ask("/v2/models/bare/infer", asked).json())
    model = assay.load(models / "bare.assay")
    assert found["label"]["datatype"] == "INT64"
    assert found["label"]["data"] == model.predict(X).tolist()
    np.testing.assert_array_equal(found["probabilities"]["data"], model.predict_proba(X).ravel())


def test_dates_and_texts_are_read_as_the_table_had_them(server: Running, models: Path) -> None:
    inputs = [tensor("day", "BYTES", ["2024-02-03"]), tensor("words", "BYTES", ["red fox"])]
    found = outputs(server.ask("/v2/models/dated/infer", {"inputs": inputs}).json())
    assert (
        found["label"]["data"]
        == assay.load(models / "dated.assay").predict([{"day": "2024-02-03", "words": "red fox"}]).tolist()
    )


def test_a_threshold_makes_the_model_abstain(server: Running, models: Path) -> None:
    found = outputs(
        server.ask("/v2/models/linear/infer", {"inputs": columns(ROWS), "parameters": {"threshold": 0.95}}).json()
    )
    P = assay.load(models / "linear.assay").predict_proba(ROWS).max(axis=1)
    assert found["abstained"]["data"] == (P < 0.95).tolist()
    assert 0 < sum(found["abstained"]["data"]) < 7
    assert [label is None for label in found["label"]["data"]] == found["abstained"]["data"]


def test_neighbours_are_evidence(server: Running, models: Path) -> None:
    asked = [{"name": "label"}, {"name": "neighbours"}, {"name": "distances"}]
    request = {"inputs": columns(ROWS), "outputs": asked, "parameters": {"n_neighbors": 3}}
    found = outputs(server.ask("/v2/models/near/infer", request).json())
    model = assay.load(models / "near.assay")
    distances, rows = model.model_.kneighbors(model.rows(ROWS), 3)
    assert found["neighbours"]["shape"] == [7, 3]
    assert found["neighbours"]["data"] == rows.ravel().tolist()
    np.testing.assert_array_equal(found["distances"]["data"], distances.ravel())


def binary(server: Running, model: str, head: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes, Any]:
    text = json.dumps(head).encode()
    headers = {"inference-header-content-length": str(len(text)), "content-type": "application/octet-stream"}
    found = server.client.post(f"/v2/models/{model}/infer", content=text + data, headers=headers)
    size = int(found.headers.get("inference-header-content-length", len(found.content)))
    return json.loads(found.content[:size]), found.content[size:], found


def test_tensors_can_travel_as_bytes_both_ways(server: Running, models: Path) -> None:
    X = np.random.default_rng(0).normal(size=(5, 3))
    head = {
        "inputs": [{"name": "x", "shape": [5, 3], "datatype": "FP64", "parameters": {"binary_data_size": X.nbytes}}],
        "outputs": [{"name": "label", "parameters": {"binary_data": False}}, {"name": "probabilities"}],
        "parameters": {"binary_data_output": True},
    }
    answer, data, reply = binary(server, "bare", head, X.tobytes())
    model = assay.load(models / "bare.assay")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert outputs(answer)["label"]["data"] == model.predict(X).tolist()
    assert outputs(answer)["probabilities"]["parameters"] == {"binary_data_size": 80}
    np.testing.assert_array_equal(np.frombuffer(data).reshape(5, 2), model.predict_proba(X))


def test_texts_travel_as_length_and_bytes(server: Running, models: Path) -> None:
    plans = b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in ["pro", "größer"])
    inputs = [
        tensor("age", "FP32", [30, 40]),
        tensor("income", "INT32", [9000, 12000]),
        {"name": "member", "shape": [2], "datatype": "BOOL", "parameters": {"binary_data_size": 2}},
        {"name": "plan", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": len(plans)}},
    ]
    asked = {"inputs": inputs, "outputs": [{"name": "label", "parameters": {"binary_data": True}}]}
    answer, data, _ = binary(server, "linear", asked, b"\1\0" + plans)
    rows = [
        {"age": 30, "income": 9000, "member": True, "plan": "pro"},
        {"age": 40, "income": 12000, "member": False, "plan": "größer"},
    ]
    wanted = assay.load(models / "linear.assay").predict(rows).tolist()
    assert data == b"".join(struct.pack("<I", len(t)) + t.encode() for t in wanted)
    assert outputs(answer)["label"]["shape"] == [2]


BAD: dict[str, Any] = {
    "no inputs": {"inputs": []},
    "a column is not there": {"inputs": columns(ROWS)[:3]},
    "too few values": {"inputs": [tensor("x", "FP64", [1, 2], [1, 3])]},
    "another shape than the data": {"inputs": [tensor("x", "FP64", [[1, 2, 3], [1, 2]], [2, 3])]},
    "no rows": {"inputs": [tensor("x", "FP64", [], [0, 3])]},
    "other lengths": {"inputs": [tensor("x0", "FP64", [1, 2]), tensor("x1", "FP64", [1]), tensor("x2", "FP64", [1])]},
    "text where numbers are due": {"inputs": [tensor("x", "FP64", ["a", "b", "c"], [1, 3])]},
    "beyond its type": {"inputs": [tensor("x", "INT8", [1, 2, 300], [1, 3])]},
    "a fraction that is no whole number": {"inputs": [tensor("x", "INT64", [1, 2, 2.5], [1, 3])]},
    "a negative size": {"inputs": [tensor("x", "FP64", [1, 2, 3], [-1, 3])]},
    "a huge size": {"inputs": [tensor("x", "FP64", [1, 2, 3], [1 << 39, 3])]},
    "three dimensions": {"inputs": [tensor("x", "FP64", [1, 2, 3], [1, 3, 1])]},
    "an unknown type": {"inputs": [tensor("x", "FP128", [1, 2, 3], [1, 3])]},
    "an unknown output": {"inputs": [tensor("x", "FP64", [1, 2, 3], [1, 3])], "outputs": [{"name": "colour"}]},
    "a threshold that is none": {"inputs": [tensor("x", "FP64", [1, 2, 3], [1, 3])], "parameters": {"threshold": 2}},
    "no data": {"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP64"}]},
    "bytes that do not follow": {
        "inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP64", "parameters": {"binary_data_size": 24}}]
    },
    "a tensor twice": {"inputs": [tensor("x0", "FP64", [1])] * 3},
}


@pytest.mark.parametrize("why", BAD)
def test_what_does_not_fit_is_refused_with_an_error(server: Running, why: str) -> None:
    found = server.ask("/v2/models/bare/infer", BAD[why])
    assert found.status_code in (400, 413), found.text
    assert set(found.json()) == {"error"}
    assert found.json()["error"]
