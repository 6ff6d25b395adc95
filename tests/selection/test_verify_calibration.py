"""A model of a comparison verifies from its file, calibration included: what is learnt again goes the way that it was learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay


@pytest.mark.parametrize("resampling", ["k-fold", "holdout"])
def test_calibrations_of_rough_searches_are_found_again(tmp_path, resampling):
    found = assay.compare("coins", "coin", models=["logistic-regression", "baseline"], resampling=resampling, folds=3)
    found["logistic-regression"].model.save(tmp_path / "m.assay")
    verdicts = assay.load(tmp_path / "m.assay").certificate_.verify("coins")
    assert verdicts.holds, str(verdicts)


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    """Several rows a patient, at times of which some are equal."""
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, 160)
    who = [f"patient {k}" for k in rng.integers(0, 40, 160)]
    hours = pd.date_range("2020-01-01", periods=120, freq="h")
    frame = {"pulse": rng.normal(1.2 * ill, 1.0), "ward": rng.choice(["a", "b"], 160), "who": who}
    return pd.DataFrame({**frame, "when": hours[rng.integers(0, 120, 160)], "ill": np.where(ill, "yes", "no")})


WAYS: dict[str, dict[str, Any]] = {
    "folds of groups": {"folds": 3, "group": "who"},
    "groups held out": {"resampling": "holdout", "group": "who"},
    "steps in time": {"folds": 3, "time": "when"},
    "the latest held out": {"resampling": "holdout", "time": "when"},
    "log loss of groups, twice": {"folds": 3, "repeats": 2, "group": "who", "loss": "log"},
}


@pytest.mark.parametrize("way", WAYS)
def test_calibrations_by_groups_and_times_are_found_again_and_only_from_these(tmp_path, visits, way):
    found = assay.compare(visits, "ill", models=["logistic-regression", "decision-tree"], workers=0, **WAYS[way])
    for entry in found.done:
        models = {"measured": entry.model, "handed over": found.refit(entry.name)}
        for name, model in models.items():
            model.save(tmp_path / "m.assay")
            loaded = assay.load(tmp_path / "m.assay")
            verdicts = loaded.certificate_.verify(visits)
            assert verdicts.holds, (entry.name, name, str(verdicts))
            assert "calibrated probabilities" in [v.claim for v in verdicts]
    mark = "group" if "group" in WAYS[way] else "time"
    column = WAYS[way][mark]
    other = visits.assign(**{column: visits[column].to_numpy()[::-1]})
    assert not loaded.certificate_.verify(other).holds  # other groups or times, other rows to learn it from
