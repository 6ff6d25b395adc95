"""Penalties: value, conjugate and shrinking agree with their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from assay.risk.terms import Penalty

CASES = {"l2": (0.0, 0.7), "l1": (0.7, 0.0), "both": (0.4, 0.9), "none": (0.0, 0.0)}


@pytest.mark.parametrize(("l1", "l2"), CASES.values(), ids=CASES)
def test_the_value_is_the_sum_and_the_intercept_is_free(l1, l2):
    w = np.array([1.0, -2.0, 0.0, 5.0])
    penalty = Penalty.of(3, l1, l2)
    assert penalty.value(w) == pytest.approx(l1 * 3.0 + 0.5 * l2 * 5.0)
    assert penalty.value(np.stack([w, -w])) == pytest.approx(2 * penalty.value(w))
    assert penalty.free[-1]
    assert penalty.free[:-1].all() == (l1 == l2 == 0)
    assert penalty.quadratic == (l1 == 0)


@pytest.mark.parametrize(("l1", "l2"), [CASES["l2"], CASES["both"]])
def test_the_conjugate_is_the_greatest_gw_less_penalty(l1, l2):
    rng = np.random.default_rng(0)
    penalty = Penalty.of(3, l1, l2)
    for _ in range(10):
        g = np.append(2 * rng.standard_normal(3), 0.0)
        best = np.append(np.sign(g[:-1]) * np.maximum(np.abs(g[:-1]) - l1, 0) / l2, 0.0)
        assert penalty.conjugate(g) == pytest.approx(g @ best - penalty.value(best))
        for _ in range(20):
            w = np.append(3 * rng.standard_normal(3), 0.0)
            assert penalty.conjugate(g) >= g @ w - penalty.value(w) - 1e-12


def test_shrinking_brings_a_dual_point_into_the_domain_of_l1():
    penalty = Penalty.of(3, l1=0.5)
    g = np.array([1.0, -0.2, 0.1, 9.0])
    assert penalty.shrink(g) == pytest.approx(0.5)
    assert penalty.shrink(0.4 * g) == 1.0
    assert penalty.shrink(np.zeros(4)) == 1.0
    assert Penalty.of(3, l1=0.5, l2=0.1).shrink(g) == 1.0
