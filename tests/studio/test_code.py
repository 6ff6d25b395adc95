"""The command line and the lines of Python beside a state give the very model that is shown."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studio_client import a_line, two_classes

import assay
from assay.cli import app
from assay.studio.code import code
from assay.studio.requests import Data, Points, TableLocation
from assay.studio.training_run import TrainingRun

DRAWN = [
    ("svc", {"C": 10.0, "kernel": "poly", "degree": 2}),
    ("mlp", {"hidden_layer_sizes": [5, 3], "max_iter": 20}),
    ("knn", {"n_neighbors": 3, "metric": "mahalanobis"}),
    ("decision-tree", {"max_depth": 3, "criterion": "entropy"}),
    ("random-forest", {"n_estimators": 3, "class_weight": "balanced"}),
    ("perceptron", {"init": [0.0, 1.0, -1.0], "max_iter": 50}),
    ("logistic-regression", {"fit_intercept": False}),
]


def equal(a: Any, b: Any) -> None:
    """The same model: every array and fact that was learnt."""
    a, b = a.to_record(), b.to_record()
    assert (a.model, a.params, a.names) == (b.model, b.params, b.names)
    assert list(a.arrays) == list(b.arrays)
    for name in a.arrays:
        assert np.array_equal(a.arrays[name], b.arrays[name], equal_nan=True), name
    assert str(a.classes) == str(b.classes)


def both_run(run: TrainingRun, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = code(run)
    shown = run.fitted()
    monkeypatch.chdir(folder)
    if "file" in found:
        Path(found["name"]).write_text(found["file"], encoding="utf-8")
    out = Path(f"{run.name}.assay")
    words = shlex.split(found["shell"])
    assert words[:2] == ["assay", "train"]
    assert app.run(words[1:]) in (0, 4)
    equal(shown, assay.load(out))
    out.unlink()
    exec(compile(found["python"], "shown", "exec"), {})
    equal(shown, assay.load(out))


@pytest.mark.parametrize(("name", "params"), DRAWN)
@pytest.mark.filterwarnings("ignore")
def test_drawn_points(name: str, params: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Data(points=Points(**two_classes(60)["points"]))
    both_run(TrainingRun.of(data, None, name, params), tmp_path, monkeypatch)


def test_drawn_points_whose_labels_look_like_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    p = two_classes(60)["points"]
    labels = ["1" if label == "a" else "0" for label in p["label"]]
    both_run(TrainingRun.of(Data(points=Points(p["x"], p["y"], labels)), None, "lda", {}), tmp_path, monkeypatch)


def test_a_drawn_regression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Data(points=Points(**a_line()["points"]))
    both_run(TrainingRun.of(data, None, "ridge", {"alpha": 0.5}), tmp_path, monkeypatch)


def test_a_bundled_dataset_scaled_as_the_model_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coins = assay.dataset("coins")
    place = TableLocation(str(coins.path), "coins", "coins", "coin", True)
    both_run(TrainingRun.of(Data(table="0" * 16), place, "svc", {"C": 3.0}), tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["a", "a, in mm", 'a "of" b'])
def test_a_table_of_which_some_columns_are_learnt_from(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "my table.csv"
    rows = [f"{a:.3f},{b:.3f},{'red' if a > b else 'blue'},{a + b > 0}" for a, b in rng.normal(size=(50, 2))]
    quoted = name.replace('"', '""')
    file.write_text("\n".join([f'"{quoted}",b,colour,kind', *rows]))
    place = TableLocation(str(file), file.name, file.name)
    data = Data(table="0" * 16, target="kind", only=[name, "colour"])
    both_run(TrainingRun.of(data, place, "logistic-regression", {}), tmp_path, monkeypatch)
