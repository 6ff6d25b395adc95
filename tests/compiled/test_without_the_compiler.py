"""The loops say the same with and without the compiler."""

from other_processes import printed_by_both

CODE = """
import numpy as np, scipy.sparse, assay
rng = np.random.default_rng(0)
X, y = rng.normal(size=(101, 11)), np.arange(101) % 3
w = rng.integers(0, 3, 101).astype(float)
for model in (assay.GaussianNB(), assay.BernoulliNB(), assay.QuadraticDiscriminantAnalysis(), assay.Ridge()):
    for weights in (None, w):
        model.fit(X, y, sample_weight=weights)
        print(model.certificate_.holds, model._provenance["fingerprint"], np.round(model.predict(X).sum(), 9))
S = scipy.sparse.csr_matrix(np.maximum(np.floor(2 * X), 0))
S[4, 2] = np.nan
for model in (assay.GaussianNB(), assay.BernoulliNB(alpha=0), assay.MultinomialNB(), assay.NaiveBayes()):
    for weights in (None, w):
        model.fit(S, y, sample_weight=weights)
        print(model.certificate_.verify(S, y, weights).holds, model._provenance["fingerprint"], model.predict(S).sum())
"""


def test_fits_and_fingerprints_are_the_same_without_the_compiler():
    compiled, plain = printed_by_both(CODE)
    assert compiled == plain
