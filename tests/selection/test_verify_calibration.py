"""A model of a comparison verifies from its file, calibration included: what is learnt again goes the way that it was learnt."""

from __future__ import annotations

import pytest

import assay


@pytest.mark.parametrize("resampling", ["k-fold", "holdout"])
def test_calibrations_of_rough_searches_are_found_again(tmp_path, resampling):
    found = assay.compare("coins", "coin", models=["logistic-regression", "baseline"], resampling=resampling, folds=3)
    found["logistic-regression"].model.save(tmp_path / "m.assay")
    verdicts = assay.load(tmp_path / "m.assay").certificate_.verify("coins")
    assert verdicts.holds, str(verdicts)
