"""What the page asks, answered by a real studio over HTTP."""

from __future__ import annotations

import base64
import http.client
import json
import time
from typing import Any

import numpy as np
import pytest
from studio_client import Client, a_line, ask, two_classes

import assay
from assay.families import REGISTRY


def labels(frame: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(frame["regions"]["label"]), np.uint8)


def cells(w: int = 24, h: int = 24) -> np.ndarray:
    x, y = (-3 + (np.arange(n) + 0.5) / n * 6 for n in (w, h))
    return np.column_stack([g.ravel() for g in np.meshgrid(x, y)])


def test_about_offers_every_model_with_a_form_of_all_its_parameters(client: Client) -> None:
    found = client.get("/api/about")
    assert [form["name"] for form in found["models"]] == list(REGISTRY)
    for form in found["models"]:
        table = assay.models()[form["name"]].params
        assert [field["name"] for field in form["params"]] == [name for name in table if name != "n_jobs"]
        assert form["about"].endswith(".")
        assert form["word"]
    assert found["limits"]["panels"] == 4
    assert found["presets"]


def test_the_regions_are_what_the_same_model_predicts_from_below_to_above(client: Client) -> None:
    data = two_classes()
    found = client.post("/api/fit", ask(data, "svc", params={"C": 10.0}))
    p = data["points"]
    model = assay.SVC(C=10.0).fit(np.column_stack([p["x"], p["y"]]), np.array(p["label"]))
    expected = np.searchsorted(model.classes_, model.predict(cells()))
    assert found["begin"]["classes"] == ["a", "b"]
    assert (labels(found["frame"]) == expected).all()
    assert found["end"]["risk"]["training"] == pytest.approx(
        np.mean(model.predict(np.column_stack([p["x"], p["y"]])) != p["label"])
    )


def test_strength_is_the_probability_of_the_class_shown(client: Client) -> None:
    data = two_classes()
    found = client.post("/api/fit", ask(data, "logistic-regression"))
    p = data["points"]
    model = assay.LogisticRegression().fit(np.column_stack([p["x"], p["y"]]), np.array(p["label"]))
    expected = (2 * model.predict_proba(cells()).max(axis=1) - 1) * 255
    strength = np.frombuffer(base64.b64decode(found["frame"]["regions"]["strength"]), np.uint8)
    assert np.abs(strength - expected).max() <= 0.51


def test_a_quick_fit_leaves_out_what_takes_long_and_a_whole_one_has_it(client: Client) -> None:
    quick = client.post("/api/fit", ask(two_classes(), "linear-svc", quick=True))["end"]
    whole = client.post("/api/fit", ask(two_classes(), "linear-svc"))["end"]
    assert quick["certificate"] == []
    assert quick["risk"]["held_out"] is None
    assert {claim["status"] for claim in whole["certificate"]} <= {"proof", "estimate", "warning"}
    assert whole["certificate"]
    held_out = whole["risk"]["held_out"]
    assert held_out["low"] <= held_out["value"] <= held_out["high"]


def test_all_models_are_measured_on_the_same_held_out_rows(client: Client) -> None:
    rows = {
        client.post("/api/fit", ask(two_classes(), name))["end"]["risk"]["held_out"]["rows"]
        for name in ("lda", "knn", "decision-tree")
    }
    assert len(rows) == 1


@pytest.mark.parametrize(
    "name", [n for n in REGISTRY if n not in ("multinomial-nb", "complement-nb", "categorical-nb")]
)
def test_every_model_plays_from_begin_to_end(client: Client, name: str) -> None:
    kind = assay.models()[name].kind_of({})
    data = two_classes(60) if kind == "classifier" else a_line()
    params: dict[str, Any] = {"n_estimators": 5} if "n_estimators" in assay.models()[name].params else {}
    if name == "radius-neighbors":  # some point of the picture has none
        params["outlier_label"] = "most_frequent"
    if "max_iter" in assay.models()[name].params and name in ("perceptron", "kernel-perceptron"):
        params["max_iter"] = 20
    told = list(client.stream("/api/play", ask(data, name, params=params, frames=12)))
    kinds = [message["kind"] for message in told]
    assert kinds[0] == "begin", told[0]
    assert kinds[-1] == "end", told[-1]
    assert set(kinds[1:-1]) == {"frame"}
    frames = told[1:-1]
    assert 1 <= len(frames) <= 12
    steps = [frame["step"] for frame in frames]
    assert steps == sorted(set(steps))
    assert all(frame["caption"] for frame in frames)
    last = frames[-1]
    fitted = client.post("/api/fit", ask(data, name, params=params, quick=True))["frame"]
    if kind == "classifier":
        assert last["regions"]["label"] == fitted["regions"]["label"]
    else:
        assert last["curve"]["y"] == pytest.approx(fitted["curve"]["y"], abs=1e-3)


def test_the_perceptron_shows_its_arithmetic_as_it_is_done_by_hand(client: Client) -> None:
    data = {"points": {"x": [2.0, 2.0, 1.0], "y": [-1.0, 1.0, 3.0], "label": ["1", "1", "0"]}}
    params = {"init": [0.0, -1.0, 1.0], "shuffle": False}
    known = assay.models()["perceptron"].params
    told = list(
        client.stream("/api/play", ask(data, "perceptron", params={k: v for k, v in params.items() if k in known}))
    )
    first = told[1]["arithmetic"]
    assert first[0] == "w(0) = (0, −1, 1),  x̃ = (1, 2, −1)"
    assert first[1] == "w·x̃ = 0·1 + −1·2 + 1·−1 = −3"
    assert first[3] == "wrong: w(1) = w(0) + x̃ = (1, 1, 0)"
    assert any(overlay["role"] == "current" for overlay in told[1]["overlays"])
    assert told[-1]["risk"]["training"] == 0.0


def test_a_straight_line_has_its_weights_its_residuals_and_its_error_surface(client: Client) -> None:
    data = a_line()
    params = {"solver": "gd"} if "gd" in str(assay.LinearRegression.params.get("solver")) else {}
    found = client.post("/api/fit", ask(data, "linear-regression", params=params))["frame"]
    slope, intercept = np.polyfit(data["points"]["x"], data["points"]["target"], 1)
    assert found["at"] == pytest.approx([intercept, slope], abs=1e-2)
    assert [o["role"] for o in found["overlays"]] == ["residual"]
    surface = client.post("/api/surface", {"data": data, "model": "linear-regression", "grid": [40, 40]})
    value = np.frombuffer(base64.b64decode(surface["value"]), np.uint8).reshape(40, 40)
    i, j = np.unravel_index(value.argmin(), value.shape)
    low = [surface[k][0] + (n + 0.5) / 40 * (surface[k][1] - surface[k][0]) for k, n in (("x", j), ("y", i))]
    step = [(surface[k][1] - surface[k][0]) / 40 for k in "xy"]
    assert abs(low[0] - intercept) <= 2 * step[0]
    assert abs(low[1] - slope) <= 2 * step[1]
    assert surface["least"] == pytest.approx([intercept, slope])
    assert surface["low"] == pytest.approx(found["risk"]["training"], rel=0.2)
    assert surface["lines"]


def test_overlays_say_what_a_model_is_made_of(client: Client) -> None:
    wanted = {
        "svc": {"boundary", "margin", "support"},
        "qda": {"ellipse", "centre"},
        "decision-tree": {"cell"},
        "random-forest": {"vote"},
        "rectangle": {"box"},
        "mlp": {"unit"},
        "logistic-regression": {"weight", "boundary", "mistake"},
    }
    for name, roles in wanted.items():
        params = {"hidden_layer_sizes": [6]} if name == "mlp" else {}
        found = client.post("/api/fit", ask(two_classes(), name, params=params, quick=True))["frame"]
        assert roles <= {overlay["role"] for overlay in found["overlays"]}, name


def test_a_table_is_uploaded_shown_and_learnt_from(client: Client) -> None:
    text = assay.dataset("coins").path.read_bytes()
    table = client.post("/api/tables?name=my%20coins.csv", text)
    assert table["name"] == "my coins.csv"
    assert table["target"] == "coin"
    data = {"table": table["id"], "target": "coin"}
    points = client.post(f"/api/tables/{table['id']}/points", data)
    assert points["axes"]["x"]["label"] == "size_mm"
    assert len(points["x"]) == len(points["label"]) == len(points["row"])
    found = client.post("/api/fit", {**ask(data, "qda"), "view": points["view"]})
    support = np.frombuffer(base64.b64decode(found["begin"]["support"]), np.uint8)
    assert set(support.tolist()) == {0, 1}
    assert "assay train" in found["begin"]["code"]["shell"]
    assert "'my coins.csv'" in found["begin"]["code"]["shell"]


def test_a_model_of_many_columns_is_seen_on_slices_and_projections(client: Client) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    lines = ["a,b,c,d,colour,kind"]
    for row in X:
        colour = "red" if row[2] > 0 else "blue"
        lines.append(",".join([*(f"{v:.4f}" for v in row), colour, "yes" if row[0] + row[1] > 0 else "no"]))
    table = client.post("/api/tables?name=t.csv", "\n".join(lines).encode())
    base = {"table": table["id"], "target": "kind"}
    sliced = {**base, "columns": ["a", "colour"], "at": {"c": 1.0}}
    assert client.post(f"/api/tables/{table['id']}/points", sliced)["axes"]["y"]["levels"] == ["blue", "red"]
    assert client.post("/api/fit", ask(sliced, "decision-tree"))["end"]["risk"]["training"] < 0.2
    numbers = {**base, "only": ["a", "b", "c", "d"], "projection": "pca"}
    assert client.post("/api/fit", ask(numbers, "lda"))["frame"]["regions"]["w"] == 24
    status, error = client.refused("/api/fit", ask({**base, "projection": "pca"}, "lda"))
    assert (status, "categories" in error) == (400, True)


def test_the_pointer_is_told_neighbours_and_the_line_up_to_which_they_lie(client: Client) -> None:
    data = two_classes()
    found = client.post("/api/fit", ask(data, "knn", params={"n_neighbors": 5}, quick=True))
    near = client.post("/api/near", {"model": found["end"]["model"], "at": [0.2, 0.1], "data": data})
    marks = next(o for o in near["overlays"] if o["kind"] == "marks")
    points = np.column_stack([data["points"]["x"], data["points"]["y"]])
    far = np.sort(np.hypot(*(points - [0.2, 0.1]).T))[:5]
    assert np.hypot(*(np.array(marks["at"]) - [0.2, 0.1]).T) == pytest.approx(far)
    radius = next(o for o in near["overlays"] if o["role"] == "radius")
    assert np.hypot(*(np.array(radius["points"]) - [0.2, 0.1]).T) == pytest.approx(far[-1])
    assert "5 nearest rows" in near["text"]


def test_a_tree_tells_the_pointer_its_questions(client: Client) -> None:
    data = two_classes()
    found = client.post("/api/fit", ask(data, "decision-tree", quick=True))
    near = client.post("/api/near", {"model": found["end"]["model"], "at": [0.2, 0.1], "data": data})
    assert "? yes" in near["text"] or "? no" in near["text"]


def test_a_model_is_saved_loaded_and_shown_again(client: Client) -> None:
    data = two_classes()
    fitted = client.post("/api/fit", ask(data, "svc"))
    status, file, headers = client.send("GET", f"/api/models/{fitted['end']['model']}/file")
    assert status == 200
    assert "model.assay" in headers["content-disposition"]
    loaded = client.post("/api/models", file)
    assert (loaded["name"], loaded["target"], loaded["classes"]) == ("svc", "label", ["a", "b"])
    shown = client.post("/api/show", {**ask(data, ""), "model": loaded["model"]})
    assert shown["frame"]["regions"] == fitted["frame"]["regions"]
    assert shown["end"]["certificate"]


def test_a_comparison_fills_a_table_and_ends_with_a_report(client: Client) -> None:
    told = list(client.stream("/api/compare", {"data": two_classes(60), "seconds": 20}))
    rows = [message for message in told if message["kind"] == "row"]
    assert {row["state"] for row in rows} >= {"waiting", "done"}
    end = told[-1]
    assert end["kind"] == "end", end
    final = {row["name"]: row for row in rows}[end["recommended"]]
    assert final["low"] <= final["risk"] <= final["high"]
    status, page, headers = client.send("GET", f"/api/reports/{end['report']}")
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/html")
    assert b"<html" in page[:200].lower()
    assert "assay compare points.csv" in end["code"]["shell"]


def test_a_newer_request_of_a_panel_ends_the_older_one(client: Client) -> None:
    slow = ask(two_classes(400), "perceptron", params={"max_iter": 5000}, panel="p1", frames=2000)
    lines = client.stream("/api/play", slow)
    assert next(lines)["kind"] == "begin"
    found = client.post("/api/fit", ask(two_classes(40), "lda", panel="p1", quick=True))
    assert found["end"]["risk"]["training"] <= 0.5
    assert list(lines)[-1] == {"kind": "error", "error": "A newer request of this panel has taken its place."}


def test_comparisons_of_two_tabs_do_not_end_each_other(client: Client) -> None:
    tabs = [
        client.stream("/api/compare", {"data": two_classes(60), "seconds": 3, "panel": f"{k}-compare"}) for k in "ab"
    ]
    for lines in tabs:
        next(lines)
    assert [list(lines)[-1]["kind"] for lines in tabs] == ["end", "end"]


def test_an_older_request_that_arrives_late_does_not_end_the_newer_one(client: Client) -> None:
    newer = ask(two_classes(400), "perceptron", params={"max_iter": 300}, panel="p2", turn=2, frames=50)
    lines = client.stream("/api/play", newer)
    assert next(lines)["kind"] == "begin"
    late = ask(two_classes(40), "lda", panel="p2", turn=1, quick=True)
    assert client.refused("/api/fit", late) == (409, "A newer request of this panel has taken its place.")
    assert list(lines)[-1]["kind"] == "end"


def test_closing_the_connection_stops_the_work(client: Client) -> None:
    for _ in range(8):  # more than there are workers: were they not free again, the next would wait for ever
        lines = client.stream("/api/play", ask(two_classes(400), "perceptron", params={"max_iter": 5000}, frames=2000))
        next(lines)
        lines.close()
    assert client.post("/api/fit", ask(two_classes(40), "lda", quick=True))["frame"]["regions"]


def test_a_fit_that_does_not_stop_by_itself_is_ended_when_nobody_listens(client: Client) -> None:
    endless = json.dumps(ask(two_classes(400), "perceptron", params={"max_iter": 10**9}, quick=True))
    for _ in range(7):  # more than there are workers
        connection = http.client.HTTPConnection(client.host, timeout=60)
        connection.request("POST", "/api/fit", endless, {"Authorization": f"Bearer {client.token}"})
        time.sleep(0.3)
        connection.close()
    assert client.post("/api/fit", ask(two_classes(40), "lda", quick=True))["frame"]["regions"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (ask(two_classes(), "svm-of-mine"), "no model"),
        (ask(two_classes(), "svc", params={"C": -1}), "C=-1"),
        (ask(two_classes(), "svc", params={"D": 1}), "Invalid parameter"),
        (ask(two_classes(), "decision-tree", params={"max_depth": 10**30}), "larger than a computer counts"),
        (ask(two_classes(), "linear-regression"), "learns numbers"),
        (ask({"points": {"x": [1.0], "y": [1.0], "label": []}}, "svc"), "each point needs"),
        (ask({"points": {"x": [1.0, 2.0], "y": [1.0, 2.0], "label": ["a", "a"]}}, "svc"), "one class"),
        (ask({"points": {"x": [], "y": [], "label": []}}, "svc"), "no row"),
        (ask({"table": "0" * 16}, "svc"), "no such table"),
        ({**ask(two_classes(), "svc"), "view": {"x": [1, 0], "y": [0, 1]}}, "greater"),
        ({**ask(two_classes(), "svc"), "grid": [100000, 10]}, "shape"),
        ({"data": {}}, "shape"),
        (b"{", "not JSON"),
        (b'{"data":{},"model":"svc","view":{"x":[0,1],"y":[0,1]},"params":{"C":' + b"[" * 100_000, "nested"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(client: Client, body: Any, says: str) -> None:
    status, error = client.refused("/api/fit", body)
    assert 400 <= status < 500
    assert says in error


def test_points_that_are_no_json_are_refused(client: Client) -> None:
    status, error = client.refused("/api/tables/0000000000000000/points", b"{")
    assert (status, "not JSON" in error) == (400, True)


def test_infinity_is_a_word_of_the_form_where_it_means_something(client: Client) -> None:
    forms = {form["name"]: form for form in client.get("/api/about")["models"]}
    words = {(m, f["name"]): f["words"] for m in ("svc", "ridge") for f in forms[m]["params"]}
    assert words["svc", "C"] == ["inf"]
    assert words["ridge", "alpha"] == []
