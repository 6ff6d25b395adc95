"""The report draws how a network learnt."""

from __future__ import annotations

import numpy as np

from assay.report import report_html
from assay.selection.compare import compare


def test_networks_show_their_losses():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.where((X[:, 0] > 0) ^ (rng.random(150) < 0.1), "up", "down")
    found = compare(X, y=y, models=["mlp"], resampling="holdout", workers=1)
    assert {entry.state for entry in found.entries} == {"done"}
    page = report_html(found)
    assert page.count("<strong>How it learnt</strong>") == 1
    assert "could not be drawn" not in page
