"""What a picture of the studio says is so: lines are straight where the model is linear, and marks stand for the rows they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from studio_client import ask

from assay.studio.playing import fit, play
from assay.studio.presets import PRESETS
from assay.studio.requests import FitRequest, TableLocation
from assay.studio.session_files import SessionFiles

ABOVE_ZERO = {"x": [0.0, 1.08, 1.08, 2.0, 0.4], "y": [0.0, 0.0, 0.72, 1.3, 0.9], "label": ["A", "B", "A", "B", "A"]}


@pytest.fixture
def shown(tmp_path: Path) -> Any:
    """A function that gives the frame of a fitted model."""

    def frame(body: dict[str, Any], place: TableLocation | None = None) -> Any:
        (found,) = fit(msgspec.convert(body, FitRequest), place, SessionFiles(tmp_path))
        return found["frame"]

    return frame


def marks(frame: Any, role: str) -> Any:
    return next(overlay for overlay in frame["overlays"] if overlay["role"] == role)


def test_a_line_stays_straight_below_zero_though_no_row_is_there(shown: Any) -> None:
    frame = shown(ask({"points": ABOVE_ZERO}, "logistic-regression"))
    (line,) = marks(frame, "boundary")["lines"]
    at = np.array(line)
    assert at.min() < -2.5
    assert np.linalg.matrix_rank(at - at.mean(axis=0), tol=1e-3) == 1


def test_a_model_of_counts_is_asked_about_counts_alone(shown: Any) -> None:
    counts = {"x": [0.0, 1.0, 4.0, 5.0, 0.0], "y": [3.0, 4.0, 0.0, 1.0, 2.0], "label": list("AABBA")}
    assert shown(ask({"points": counts}, "multinomial-nb"))["regions"]
    assert shown(ask({"points": counts}, "naive-bayes", params={"columns": "poisson"}))["regions"]


def wrong_classes(frame: Any, points: Any) -> list[str]:
    """The class of each mistake that is marked, by the point nearest to the mark."""
    at = np.column_stack([points["x"], points["y"]])
    return [points["label"][np.abs(at - place).sum(axis=1).argmin()] for place in marks(frame, "mistake")["at"]]


@pytest.mark.parametrize("name", ["equal-means", "unequal-covariances"])
def test_a_mistake_is_marked_with_the_class_of_its_row(shown: Any, name: str) -> None:
    preset = PRESETS[name]()
    frame = shown({"data": preset["data"], "model": "lda", "view": preset["view"]})
    classes = sorted(set(preset["data"]["points"]["label"]))
    told = [classes[k] for k in marks(frame, "mistake")["class"]]
    assert len(set(told)) == 2
    assert told == wrong_classes(frame, preset["data"]["points"])


def test_of_many_rows_the_share_of_points_marked_is_the_share_of_mistakes(shown: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4000)).round(3)
    label = np.where(rng.uniform(size=4000) < 0.2, x < 0, x > 0)
    path = tmp_path / "many.csv"
    path.write_text("x,y,label\n" + "\n".join(f"{a},{b},{'AB'[c]}" for a, b, c in zip(x, y, label.astype(int))))
    frame = shown(ask({"table": "0" * 16, "target": "label"}, "lda"), TableLocation(str(path), "many.csv", "many.csv"))
    assert len(marks(frame, "mistake")["at"]) == pytest.approx(1000 * frame["risk"]["training"], rel=0.15)


def test_support_vectors_of_a_curve_lie_outside_its_tube_or_on_it(shown: Any) -> None:
    preset = PRESETS["other-lines"]()
    svr = next(panel for panel in preset["panels"] if panel["model"] == "svr")
    frame = shown({"data": preset["data"], "view": preset["view"], **svr})
    below, above = (np.array(edge) for edge in marks(frame, "margin")["lines"])
    np.testing.assert_allclose(above[:, 1] - below[:, 1], 2 * svr["params"]["epsilon"], atol=1e-4)
    x, y = np.array(marks(frame, "support")["at"]).T
    inside = (y > np.interp(x, *below.T) + 0.01) & (y < np.interp(x, *above.T) - 0.01)
    assert not inside.any()


def test_whose_neighbours_are_looked_for_is_marked_and_said(tmp_path: Path) -> None:
    body = ask({"points": ABOVE_ZERO}, "knn", params={"n_neighbors": 2}, frames=50)
    looking = [
        f
        for f in play(msgspec.convert(body, FitRequest), None, SessionFiles(tmp_path))
        if "nearest of row 1" in f.get("caption", "")
    ]
    assert looking
    for frame in looking:
        assert marks(frame, "current")["at"] == [[ABOVE_ZERO["x"][0], ABOVE_ZERO["y"][0]]]
        assert marks(frame, "current")["at"][0] not in marks(frame, "neighbour")["at"]


def test_the_fitted_network_is_no_epoch_more(tmp_path: Path) -> None:
    body = ask({"points": ABOVE_ZERO}, "mlp", params={"hidden_layer_sizes": [3], "max_iter": 5}, frames=50)
    captions = [
        f["caption"] for f in play(msgspec.convert(body, FitRequest), None, SessionFiles(tmp_path)) if "caption" in f
    ]
    assert [text.split(":")[0] for text in captions] == [*(f"epoch {k}" for k in range(1, 6)), "after epoch 5"]
