"""The certificate of least squares, and witnesses that it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from families.least_squares.problems import problem

import assay
from assay.certify import Verdict
from assay.certify.certificate import plain_rows
from assay.certify.registry import checker
from assay.engines import ArrayRows


def verdict(X, y, claim, **changes):
    """What the checker alone says of a changed claim (`verify` also compares the witness with the model)."""
    value = changes.pop("value", claim.value)
    changes = {k: v if isinstance(v, np.ndarray) else np.array([v]) for k, v in changes.items()}
    bad = replace(claim, witness={**claim.witness, **changes}, value=value)
    try:
        return checker(claim.check)(bad, plain_rows(ArrayRows(X, y)), None)
    except ValueError as error:
        return Verdict(claim.name, False, str(error))


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_the_certificate_holds_and_can_be_verified(cls):
    X, y = problem()
    w = np.random.default_rng(6).uniform(0, 2, len(y))
    model = cls().fit(X, y, w)
    assert model.certificate_.holds
    assert model.certificate_.verify(X, y, w).holds
    assert not model.certificate_.verify(X, y).holds
    assert not model.certificate_.verify(X, y + X[:, 0] ** 2, w).holds


def test_a_tampered_witness_is_refused():
    X, y = problem()
    model = assay.LinearRegression().fit(X, y)
    claims = model.certificate_
    nudged = model.coef_ * (1 + 1e-6)
    root = model.inverse_root_.copy()
    root[:, -1] *= 2
    for name, changes in [
        ("normal equations", {"coef": nudged}),
        ("normal equations", {"intercept": model.intercept_ + 1e-6}),
        ("normal equations", {"coef": nudged, "tolerance": 10.0}),
        ("normal equations", {"coef": model.coef_[:2]}),
        ("normal equations", {"alpha": 1.0}),
        ("normal equations", {"fit_intercept": 0.0}),
        ("rank and condition", {"inverse_root": root}),
        ("rank and condition", {"inverse_root": model.inverse_root_[:, :-1]}),
        ("rank and condition", {"inverse_root": model.inverse_root_[:, :-1], "rank": 5}),
        ("rank and condition", {"inverse_root": model.inverse_root_[:, :-1], "rank": 5, "cut": 1.0}),
        ("rank and condition", {"value": 1.0}),
        ("sigma^2", {"value": model.sigma2_ * 0.999}),
        ("sigma^2", {"value": float("nan")}),
    ]:
        assert verdict(X, y, claims[name]).holds
        assert not verdict(X, y, claims[name], **changes).holds, (name, changes)
        changed = replace(
            claims[name], witness={**claims[name].witness, **{k: v for k, v in changes.items() if k != "value"}}
        )
        if "value" not in changes:
            others = tuple(c for c in claims if c.name != name)
            assert not replace(claims, claims=(*others, changed)).verify(X, y).holds


def test_a_longer_solution_is_not_certified_as_shortest():
    X, y = problem()
    X = np.column_stack([X, X[:, 0]])
    model = assay.LinearRegression().fit(X, y)
    longer = model.coef_.copy()
    longer[0] += 1
    longer[6] -= 1
    norm = float(np.linalg.norm(longer))
    claims = model.certificate_
    root = np.column_stack([model.inverse_root_, longer])
    assert verdict(X, y, claims["minimum norm"]).holds
    assert verdict(X, y, claims["normal equations"], coef=longer).holds
    assert not verdict(X, y, claims["minimum norm"], coef=longer, value=norm).holds
    assert not verdict(X, y, claims["minimum norm"], coef=longer, value=norm, inverse_root=root).holds


@pytest.mark.parametrize("seed", range(6))
def test_a_condition_number_near_the_last_digit_is_stated_as_well_as_it_is_known(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 4)) * np.exp(2 * rng.standard_normal((15, 4)))
    X[:, 3] = -2 * X[:, 0] * (1 + 5e-14 * rng.standard_normal(15))
    y = 1e9 + rng.standard_normal(15)
    model = assay.LinearRegression(fit_intercept=False).fit(X, y)
    claim, verdicts = model.certificate_["rank and condition"], model.certificate_.verify(X, y)
    assert "%" in claim.statement or model.rank_ < 4
    assert all(v.holds for c, v in zip(model.certificate_.claims, verdicts) if c.holds), str(verdicts)
