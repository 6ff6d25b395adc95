"""Losses of one score: value, slope and curvature belong together, compiled or not, near and far."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.compiled.simd.scalars import exp_of_negative
from assay.risk.terms import SURROGATES, surrogate
from assay.solvers.loops.sweep import LEAST, LOSS, SLOPES, SMOOTH, tile_losses

NAMES = list(SURROGATES)
NONE = np.empty(0)


def compiled(name, z, t, width=0.5, c=NONE):
    """(slopes, curvatures, sums) of scores z (m,), by the loop."""
    z, t = np.atleast_1d(np.asarray(z, dtype=float)), np.atleast_1d(np.asarray(t, dtype=float))
    r, q, room = np.empty((3, len(z)))
    sums = np.array([0.0, 0.0, 0.0, np.inf])
    tile_losses(surrogate(name).code, width, z, t, c, 0, len(z), r, q, room, sums)
    return r, q, sums


def scores():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=200) * 3, np.linspace(-40, 40, 81)])
    return z, np.where(rng.random(len(z)) < 0.5, 1.0, -1.0)


def away_from_kinks(name, z, t, width):
    """Where a finite difference says something: not across a kink of value, slope or curvature."""
    far = {
        "log": np.inf * np.ones_like(z),
        "hinge": np.minimum(np.abs(1 - t * z), np.abs(1 - t * z - width)),
        "squared hinge": np.abs(1 - t * z),
        "squared": np.inf * np.ones_like(z),
        "huber": np.abs(np.abs(z - t) - width),
        "perceptron": np.abs(z),
        "epsilon insensitive": np.abs(np.abs(z - t) - width),
        "squared epsilon insensitive": np.abs(np.abs(z - t) - width),
        "pinball": np.abs(z - t),
    }[name]
    return far > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_is_the_derivative_of_the_smooth_value_and_the_curvature_that_of_the_slope(name):
    z, t = scores()
    z, t = z[np.abs(z) < 20], t[np.abs(z) < 20]
    keep = away_from_kinks(name, z, t, 0.5)
    e = 1e-5
    for zi, ti in zip(z[keep], t[keep]):
        slope, bend, _ = compiled(name, zi, ti)
        up, down = compiled(name, zi + e, ti), compiled(name, zi - e, ti)
        assert slope[0] == pytest.approx((up[2][SMOOTH] - down[2][SMOOTH]) / (2 * e), abs=1e-7 * max(1, abs(zi)))
        assert bend[0] == pytest.approx((up[0][0] - down[0][0]) / (2 * e), abs=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_loop_says_what_the_formulas_of_numpy_say(name, weighted):
    z, t = scores()
    loss = surrogate(name)
    c = np.random.default_rng(1).uniform(0, 2, len(z)) * (np.arange(len(z)) % 5 > 0) if weighted else np.ones(len(z))
    for i in range(len(z)):
        r, q, sums = compiled(name, z[i], t[i], 0.5, c[i : i + 1] if weighted else NONE)
        assert sums[LOSS] == pytest.approx(c[i] * loss.value(z[i], t[i], 0.5), rel=1e-14, abs=1e-300)
        assert r[0] == pytest.approx(c[i] * loss.slope(z[i], t[i], 0.5), rel=1e-14, abs=1e-300)
        if loss.curvature is not None:
            assert q[0] == pytest.approx(c[i] * loss.curvature(z[i], t[i], 0.5), rel=1e-14, abs=1e-300)
    r, _, sums = compiled(name, z, t, 0.5, c if weighted else NONE)
    assert sums[LOSS] == pytest.approx(float(c @ loss.value(z, t, 0.5)), rel=1e-14)
    assert sums[LEAST] == (t * z)[c > 0].min()
    if name != "log":
        assert sums[SLOPES] == pytest.approx(np.abs(r).sum(), rel=1e-14)


@pytest.mark.parametrize("t", [1.0, -1.0])
@pytest.mark.parametrize("far", [1e4, 1e300])
@pytest.mark.parametrize("name", [n for n in NAMES if "squared" not in n])
def test_far_scores_stay_finite(name, far, t):
    for z in (far, -far):
        r, q, sums = compiled(name, z, t)
        assert np.isfinite([r[0], q[0], *sums]).all()
        loss = surrogate(name)
        assert sums[LOSS] == pytest.approx(float(loss.value(z, t, 0.5)), rel=1e-14)
        assert np.isfinite(loss.slope(z, t, 0.5))


@pytest.mark.parametrize("name", ["log", "hinge", "squared hinge", "perceptron"])
def test_a_perfect_prediction_is_free(name):
    r, _, sums = compiled(name, [1e4, -1e4], [1.0, -1.0])
    assert sums[LOSS] < 1e-300
    assert np.abs(r).max() < 1e-300


def test_small_log_losses_keep_their_digits():
    """The product (1 + e)(1 + e)… would lose them."""
    z = np.full(32, 30.0)
    _, _, sums = compiled("log", z, np.ones(32))
    assert sums[LOSS] == pytest.approx(32 * np.log1p(np.exp(-30.0)), rel=1e-14)
    mixed = np.array([2.0, *z[1:]])
    assert compiled("log", mixed, np.ones(32))[2][LOSS] == pytest.approx(np.log1p(np.exp(-mixed)).sum(), rel=1e-14)


def test_the_exponential_is_right_to_the_last_digit():
    from decimal import Decimal, getcontext

    getcontext().prec = 40
    x = np.concatenate([-np.random.default_rng(0).uniform(0, 708, 3000), -np.logspace(-18, 2.8, 500), [0.0, -708.0]])
    for a in x:
        true = Decimal(float(a)).exp()
        assert abs(Decimal(float(exp_of_negative(a))) - true) <= Decimal("3e-16") * true, a
    assert exp_of_negative(0.0) == 1.0
    assert 0 < exp_of_negative(-1e300) < 1e-300
    assert 0 < exp_of_negative(-np.inf) < 1e-300


@pytest.mark.parametrize("name", [n for n in NAMES if SURROGATES[n].conjugate is not None])
@given(u=st.floats(-3, 3), z=st.floats(-50, 50), t=st.sampled_from([-1.0, 1.0]), width=st.floats(0.1, 2.0))
def test_a_loss_and_its_conjugate_bound_the_product(name, u, z, t, width):
    """Fenchel and Young: ℓ(z) + ℓ*(u) ≥ uz, with equality where u is the slope at z."""
    loss = surrogate(name)
    width = 1e-12 if name == "hinge" else width  # that of the hinge itself, not of its smoothing
    width = width / 2.1 if name == "pinball" else width  # a quantile
    assert loss.value(z, t, width) + loss.conjugate(u, t, width) >= u * z - 1e-12 * (1 + abs(u * z))
    slope = float(loss.slope(z, t, width))
    star = float(loss.conjugate(slope, t, width))
    assert loss.value(z, t, width) + star == pytest.approx(slope * z, abs=1e-11 * (1 + z * z))


def test_the_smooth_hinge_and_minus_its_slopes_bound_each_other():
    """Of the smoothed hinge: ℓ*(u) = −|u| is the conjugate of the hinge itself, at any width."""
    z, t = scores()
    for width in (2.0, 0.1, 1e-3):
        u = surrogate("hinge").slope(z, t, width)
        star = surrogate("hinge").conjugate(u, t, width)
        np.testing.assert_allclose(star, -np.abs(u))
        assert (surrogate("hinge").value(z, t, width) + star >= u * z - 1e-12).all()


@pytest.mark.parametrize("name", ["log", "squared hinge", "hinge"])
@given(mean=st.floats(1e-6, 50), spread=st.floats(0, 10))
def test_rows_whose_mean_loss_is_small_have_no_small_mean_margin(name, mean, spread):
    loss = surrogate(name)
    margins = np.array([mean - spread, mean + spread, -mean, 0.0])
    average = float(np.mean(loss.value(margins, 1.0, 1e-12)))
    assert margins.mean() >= loss.least_mean_margin(average) - 1e-9 * (1 + abs(mean))
