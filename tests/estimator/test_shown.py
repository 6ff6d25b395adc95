"""`coef_` may be looked at as a sparse matrix; answers, certificate and file stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from cases import pairs
from scipy.sparse import csr_array, issparse

import assay

X, Y = pairs(60, 3, 1)


@pytest.mark.parametrize("model", [assay.LogisticRegression(C=0.05, l1_ratio=1), assay.LinearSVC(), assay.Perceptron()], ids=repr)  # fmt: skip
def test_sparse_coefficients_are_a_way_to_look_at_them(model, tmp_path):
    dense = model.fit(X, Y).coef_.copy()
    scores = model.decision_function(X)
    assert issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.coef_.toarray(), dense)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    np.testing.assert_allclose(model.decision_function(csr_array(X)), scores)
    assert model.certificate_.verify(X, Y).holds
    model.save(tmp_path / "m.assay")
    np.testing.assert_array_equal(assay.load(tmp_path / "m.assay").coef_, dense)
    np.testing.assert_array_equal(model.densify().coef_, dense)
    assert isinstance(model.sparsify().fit(X, Y).coef_, np.ndarray)  # a new fit shows them as they are


def test_nothing_is_shown_before_the_fit():
    with pytest.raises(Exception, match="not fitted"):
        assay.LinearSVC().sparsify()
