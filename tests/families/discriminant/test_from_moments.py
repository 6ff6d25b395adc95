"""The MAP classifier of given μ, Σ and P: nothing is estimated."""

from __future__ import annotations

import numpy as np
import pytest

from assay import QuadraticDiscriminantAnalysis
from assay.errors import ParameterError

MEANS = np.array([[-1.0, 0.0], [2.0, 1.0]])
COVARIANCES = np.array([[[2.0, 0.5], [0.5, 1.0]], [[0.5, -0.1], [-0.1, 0.8]]])
PRIORS = [0.3, 0.7]


def _log_joint(x):
    out = []
    for mean, S, p in zip(MEANS, COVARIANCES, PRIORS):
        at = x - mean
        out.append(np.log(p) - 0.5 * np.linalg.slogdet(2 * np.pi * S)[1] - 0.5 * at @ np.linalg.solve(S, at))
    return np.array(out)


def test_it_answers_with_the_class_of_the_greatest_p_of_x_and_k():
    model = QuadraticDiscriminantAnalysis.from_moments(MEANS, COVARIANCES, PRIORS, classes=["C1", "C2"])
    assert model.means_ == pytest.approx(MEANS)
    assert model.covariance_ == pytest.approx(COVARIANCES)
    assert model.priors_ == pytest.approx(PRIORS)
    places = np.random.default_rng(0).normal(0, 3, (200, 2))
    joint = np.array([_log_joint(x) for x in places])
    assert np.array_equal(model.predict(places), np.array(["C1", "C2"])[joint.argmax(axis=1)])
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    assert model.predict_proba(places) == pytest.approx(shares / shares.sum(axis=1, keepdims=True))


def test_one_covariance_serves_all_classes_and_equal_priors_are_the_default():
    model = QuadraticDiscriminantAnalysis.from_moments(MEANS, np.eye(2))
    assert model.priors_ == pytest.approx([0.5, 0.5])
    assert pytest.approx(np.zeros((2, 2)), abs=1e-12) == model.boundary().M


@pytest.mark.parametrize(
    ("moments", "word"),
    [
        ((MEANS, COVARIANCES[:1].repeat(3, axis=0)), "covariances"),
        ((MEANS, -np.eye(2)), "positive"),
        ((MEANS, COVARIANCES, [1.0]), "priors"),
        ((MEANS[0], COVARIANCES), "means"),
    ],
)
def test_moments_that_do_not_belong_together_are_refused(moments, word):
    with pytest.raises(ParameterError, match=word):
        QuadraticDiscriminantAnalysis.from_moments(*moments)
