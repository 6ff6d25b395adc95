"""The .632+ bootstrap: closed cases, what the paper says of it, and the estimate that a comparison gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay import compare
from assay.selection.judge import combine, no_information_risk


def test_the_estimates_lie_between_the_apparent_risk_and_no_information():
    for apparent, left_out, gamma in [(0.1, 0.2, 0.5), (0.0, 0.6, 0.5), (0.3, 0.2, 0.5), (0.2, 0.3, 0.2)]:
        plus, _, R = combine(apparent, left_out, gamma)
        assert min(apparent, left_out) - 1e-12 <= plus <= max(apparent, gamma) + 1e-12
        assert 0 <= R <= 1
    assert combine(0.1, 0.1, 0.5)[:2] == pytest.approx((0.1, 0.1))  # no overfitting: all agree


def test_of_a_rule_that_learns_by_heart_632_is_far_too_hopeful_and_632_plus_is_not():
    plus, plain, R = combine(0.0, 0.5, 0.5)  # nearest neighbours on noise
    assert (plus, R) == (0.5, 1.0)
    assert plain == pytest.approx(0.316)


@pytest.mark.parametrize("loss", ["zero-one", "squared"])
def test_no_information_is_the_mean_over_all_pairs(loss):
    rng = np.random.default_rng(1)
    y, answers = rng.integers(0, 4, (2, 50)).astype(float)
    pairs = y[:, None] != answers if loss == "zero-one" else (y[:, None] - answers) ** 2
    assert no_information_risk(y, answers, loss) == pytest.approx(pairs.mean())


def test_labels_may_be_words():
    y = np.array(["cat", "dog"] * 10)
    assert no_information_risk(y, y, "zero-one") == 0.5


@pytest.mark.parametrize(("target", "models"), [("y", ["lda", "baseline"]), ("t", ["ridge", "baseline-regressor"])])
def test_a_comparison_gives_the_estimate_of_the_formula_beside_the_risk_on_rows_left_out(target, models):
    rng = np.random.default_rng(2)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + 0.8 * y[:, None]
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(y, "yes", "no"), t=X[:, 0] + rng.normal(size=60))
    found = compare(table, target, models=models, features=["a", "b"], resampling="bootstrap", repeats=12, workers=0)
    truth = table[target].to_numpy()
    for entry in found.entries:
        answers = entry.model.predict(table)
        loss = "zero-one" if target == "y" else "squared"
        apparent = (answers != truth).mean() if target == "y" else ((answers - truth) ** 2).mean()
        times = np.bincount(found.tested, minlength=60)
        lost = np.bincount(found.tested, weights=found.losses(entry.name), minlength=60)
        left_out = (lost[times > 0] / times[times > 0]).mean()
        due = combine(apparent, left_out, no_information_risk(truth, answers, loss))[0]
        (score,) = [s for s in entry.scores if s.name.endswith("(.632+)")]
        assert score.value == pytest.approx(due)
        assert score.low <= score.value <= score.high
        assert score.kind == "approximate"
