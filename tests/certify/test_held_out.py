"""Claims about held-out rows: what they say is counted again, and a false witness is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.certify.certificate import plain_rows
from assay.certify.check_held_out import check_held_out_error, check_held_out_loss
from assay.certify.held_out import clopper_pearson, held_out_error, held_out_loss, normal_interval
from assay.engines import ArrayRows


@pytest.fixture
def regression():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80_000, 2))
    y = X[:, 0] + rng.normal(size=len(X))
    losses = (y - X[:, 0]) ** 2
    claim = held_out_loss(
        float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(len(y))), len(y), fraction=0.25, seed=0
    )
    return claim, plain_rows(ArrayRows(X, y)), lambda X: X[:, 0]


def test_the_mean_squared_error_and_its_interval_are_found_again(regression):
    verdict = check_held_out_loss(*regression)
    assert verdict.holds, verdict.reason
    assert verdict.kind == "estimate"


@pytest.mark.parametrize("part", ["loss", "standard_error", "rows", "confidence", "interval"])
def test_a_false_witness_of_the_squared_error_is_refused(regression, part):
    claim, rows, predict = regression
    false = {"interval": claim.witness["interval"] * 1.001, "confidence": 0.99, "rows": 79_999}
    value = false.get(part, claim.witness[part] * 1.001 if part not in false else None)
    assert not check_held_out_loss(replace(claim, witness={**claim.witness, part: value}), rows, predict).holds


@pytest.mark.parametrize("part", ["errors", "rows", "confidence", "interval"])
def test_a_false_witness_of_the_error_rate_is_refused(part):
    rows = plain_rows(ArrayRows(np.arange(100.0)[:, None], np.arange(100) % 10 == 0))
    claim = held_out_error(10, 100, fraction=0.25, seed=0)
    assert check_held_out_error(claim, rows, lambda X: np.zeros(len(X), dtype=bool)).holds
    false = {"errors": 9, "rows": 99, "confidence": 0.9, "interval": claim.witness["interval"] + 0.001}
    tampered = replace(claim, witness={**claim.witness, part: false[part]})
    assert not check_held_out_error(tampered, rows, lambda X: np.zeros(len(X), dtype=bool)).holds


def test_rows_of_weight_zero_are_as_good_as_absent():
    y = np.arange(100) % 10 == 0
    rows = plain_rows(ArrayRows(np.arange(100.0)[:, None], y, w=(~y).astype(float)))
    claim = held_out_error(0, 90, fraction=0.25, seed=0)
    assert check_held_out_error(claim, rows, lambda X: np.zeros(len(X), dtype=bool)).holds


def test_the_clopper_pearson_interval_agrees_with_scipy():
    from scipy.stats import binomtest

    for errors, n in [(0, 10), (3, 10), (10, 10), (13, 302)]:
        expected = binomtest(errors, n).proportion_ci(0.95, method="exact")
        assert clopper_pearson(errors, n) == pytest.approx((expected.low, expected.high))


def test_an_interval_of_squares_is_never_negative():
    assert normal_interval(1.0, 10.0).low == 0.0
