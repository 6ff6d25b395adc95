"""scikit-learn's own conformance suite where `laws/test_sklearn_protocol.py` does not ask it: other settings."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import assay

MODELS = [assay.Ridge(alpha=0.0), assay.Ridge(solver="gd")]


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(MODELS)
def test_the_estimator_keeps_the_protocol(estimator, check):
    check(estimator)
