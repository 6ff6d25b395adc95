"""Surrogate losses: slopes, curvatures and conjugates are those of their values; custom ones are held to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.errors import ParameterError
from assay.risk.custom_surrogate import surrogate as custom
from assay.risk.terms import HINGE, HUBER, REGRESSION, SURROGATES, surrogate

Z = np.linspace(-4.03, 4.03, 301)


def targets(loss):
    return (-1.0, 1.0) if loss.kind != REGRESSION else (-2.0, 0.3)


def sharp(loss):
    """The hinge as it is, not smoothed."""
    return replace(loss, width=1e-300) if loss.name == "hinge" else loss


@pytest.mark.parametrize("loss", SURROGATES.values(), ids=SURROGATES)
def test_the_slope_lies_between_the_differences(loss):
    loss = sharp(loss)
    for t in targets(loss):
        h = 1e-6
        left, right = (
            (loss.value(Z + a, t, loss.width) - loss.value(Z - b, t, loss.width)) / h for a, b in ((0, h), (h, 0))
        )
        s = loss.slope(Z, np.full_like(Z, t), loss.width)
        assert np.all(s >= np.minimum(left, right) - 1e-6)
        assert np.all(s <= np.maximum(left, right) + 1e-6)
        assert np.all(np.diff(s) >= -1e-12)
        assert np.all(loss.value(Z, t, loss.width) >= 0)


@pytest.mark.parametrize("loss", [s for s in SURROGATES.values() if s.smooth], ids=lambda s: s.name)
def test_the_curvature_is_the_slope_of_the_slope(loss):
    for t in targets(loss):
        h = 1e-6
        across = (loss.slope(Z + h, t, loss.width) - loss.slope(Z - h, t, loss.width)) / (2 * h)
        assert np.allclose(loss.curvature(Z, t, loss.width), across, atol=1e-5)


@pytest.mark.parametrize("loss", [s for s in SURROGATES.values() if s.conjugate], ids=lambda s: s.name)
def test_fenchel_and_young(loss):
    """ℓ(z) + ℓ*(u) ≥ uz, with equality where u is the slope at z; infinite where no slope is."""
    loss = sharp(loss)
    for t in targets(loss):
        u = loss.slope(Z, np.full_like(Z, t), loss.width)
        star = loss.conjugate(u, t, loss.width)
        value = loss.value(Z, t, loss.width)
        assert np.allclose(value + star, u * Z, atol=1e-9)
        assert np.all(value[:, None] + star >= np.multiply.outer(Z, u) - 1e-9)
        outside = 1.5 * t if loss.kind != REGRESSION else 1e6
        assert (
            loss.name in ("squared", "squared epsilon insensitive")
            or np.isinf(loss.conjugate(np.array([outside]), t, loss.width))[0]
        )


@pytest.mark.parametrize("loss", [s for s in SURROGATES.values() if s.at_zero], ids=lambda s: s.name)
def test_what_is_known_at_zero(loss):
    value, _, slope, bend = loss.at_zero
    zero, one = np.zeros(1), np.ones(1)
    assert loss.value(zero, one, loss.width)[0] == pytest.approx(value)
    assert loss.slope(zero, one, loss.width)[0] == pytest.approx(slope)
    if loss is not HINGE:
        assert loss.curvature(zero, one, loss.width)[0] == pytest.approx(bend)


@pytest.mark.parametrize("name", ["log", "hinge", "squared_hinge", "perceptron"])
def test_the_least_mean_margin_is_a_bound(name):
    loss = surrogate(name)
    rng = np.random.default_rng(0)
    for _ in range(20):
        m = 3 * rng.standard_normal(50)
        mean = float(np.mean(loss.value(m, np.ones(50), loss.width)))
        assert m.mean() >= loss.least_mean_margin(mean) - 1e-9


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ParameterError, match="Did you mean 'hinge'"):
        surrogate("hing")
    assert surrogate("huber") is HUBER


class TestCustom:
    def test_what_it_is_fit_for_is_found(self):
        smooth = custom(lambda z, t: np.exp(-t * z), lambda z, t: -t * np.exp(-t * z))
        assert (smooth.name, smooth.convex) == ("custom", True)
        curved = custom(
            lambda z, t: (z - t) ** 2, lambda z, t: 2 * (z - t), curvature=lambda z, t: 0 * z + 2, kind="regression"
        )
        assert (curved.name, curved.steepest) == ("custom with curvature", 2.0)
        for place in (1.0, 0.37):  # a kink on the grid, and one between
            kinked = custom(
                lambda z, t, a=place: np.maximum(0, a - t * z), lambda z, t, a=place: np.where(t * z < a, -t, 0.0)
            )
            assert kinked.name == "custom with a kink"

    def test_every_slope_between_both_sides_will_do_at_a_kink(self):
        for there in (-1.0, -0.4, 0.0):
            custom(
                lambda z, t: np.maximum(0, 1 - t * z),
                lambda z, t, u=there: np.where(t * z < 1, -t, np.where(t * z == 1, u * t, 0)),
            )
        with pytest.raises(ParameterError, match="at z=-1, t=-1 it is given as"):
            custom(
                lambda z, t: np.maximum(0, 1 - t * z),
                lambda z, t: np.where(t * z < 1, -t, np.where(t * z == 1, 0.5 * t, 0)),
            )

    @pytest.mark.parametrize(
        ("value", "slope", "words"),
        [
            (lambda z, t: z * t, lambda z, t: t, r"value .* z=-6, t=1 is -6: it must be ≥ 0|must be ≥ 0"),
            (lambda z, t: np.log(t * z), lambda z, t: 1 / z, "must be a number"),
            (lambda z, t: np.exp(np.exp(np.exp(z))), lambda z, t: z, "must be finite"),
            (lambda z, t: 1.0, lambda z, t: 0 * z, "one number a row"),
            (
                lambda z, t: (z - t) ** 2,
                lambda z, t: z - t,
                r"slope .* does not agree with its value: at z=-6, t=-1 it is given as -5",
            ),
            (lambda z, t: (z - t) ** 2, lambda z, t: 2.01 * (z - t), "does not agree"),
            (None, None, "functions of"),
        ],
    )
    def test_what_is_no_loss_is_refused_by_name(self, value, slope, words):
        with pytest.raises(ParameterError, match=words):
            custom(value, slope)

    def test_a_wrong_curvature_is_refused(self):
        with pytest.raises(ParameterError, match=r"curvature .* does not agree with its slope"):
            custom(lambda z, t: (z - t) ** 2, lambda z, t: 2 * (z - t), curvature=lambda z, t: 0 * z + 1)

    def test_targets_say_where_a_regression_loss_is_defined(self):
        def deviance(z, t):
            return np.exp(z) - t * z + t * np.log(t) - t

        def slope(z, t):
            return np.exp(z) - t

        with pytest.raises(ParameterError, match="must be a number"):
            custom(deviance, slope, kind="regression")
        assert custom(
            lambda z, t: np.maximum(deviance(z, t), 0), slope, kind="regression", targets=[0.5, 1.0, 2.0]
        ).convex
        with pytest.raises(ParameterError, match="targets="):
            custom(deviance, slope, kind="regression", targets=[])
        with pytest.raises(ParameterError, match="kind="):
            custom(deviance, slope, kind="labels")
