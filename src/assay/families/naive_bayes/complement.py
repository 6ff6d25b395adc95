"""Complement naive Bayes (Rennie, Shih, Teevan and Karger 2003): a class is what the counts of all other classes are unlike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from assay.estimator.layout import Tensor
from assay.estimator.params import N_JOBS, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.naive_bayes.densities.counts import complement_weights
from assay.families.naive_bayes.estimators import ALPHA_EACH, FIT_PRIOR, FORCE_ALPHA, PRIORS, MultinomialNB
from assay.families.naive_bayes.fit import NaiveBayesModel, NaiveBayesSettings
from assay.numerics import Floats


class ComplementNB(NaiveBayesModel):
    """Naive Bayes by the counts of all other classes, for texts whose classes are uneven. Shape: one fold.

        f_k(x) = −Σ_j x_j log θ_kj,    θ_kj = (Σ_{c ≠ k} S_cj + α_j) / Σ_j (Σ_{c ≠ k} S_cj + α_j)

    The class of the greatest f_k wins. `norm`: the weights of each class are divided by their sum. Priors are learnt but not used, as in
    scikit-learn. With alpha=0 a column that only one class has decides for that class.

    Certificate
    -----------
    Priors and shares are the closed form of the rows' counts, made anew from them.

    See Also
    --------
    MultinomialNB : by the counts of each class itself.

    Examples
    --------
    >>> ComplementNB().fit([[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 1, 1]], [0, 0, 1, 1]).predict([[1, 0, 1]])
    array([0])
    """

    title = "Complement naive Bayes"
    name = "complement-nb"
    discrete = True
    positive_only = True
    alpha: Any = ALPHA_EACH
    force_alpha: bool = FORCE_ALPHA
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = PRIORS
    norm: bool = param("divide the weights of each class by their sum", default=False)
    n_jobs: int | None = N_JOBS
    layout: ClassVar = {
        **NaiveBayesModel.layout,
        "multinomial_prob_": Tensor(("K", "dm"), low=0, high=1, doc="the share of each column in the counts of all classes but this one"),
    }  # fmt: skip

    @classmethod
    def _search_space(cls, features: TableTraits) -> SearchSpace:
        """Ever less smoothing, where all columns can be counts."""
        return replace(MultinomialNB._search_space(features), when_named=True)

    def _settings(self) -> NaiveBayesSettings:
        return MultinomialNB._settings(self)._replace(complement=True, norm=bool(self.norm))  # type: ignore[arg-type]

    def complexity(self) -> float:
        """One less than there are columns, K classes each: priors are not used."""
        self._check_fitted()
        return float(len(self.classes_) * max(0, self.n_features_in_ - 1))

    @property
    def feature_count_(self) -> Floats:
        """The sum of the counts of each class, (K, d)."""
        count: Floats = self._state.multinomial_sum
        return count

    @property
    def feature_all_(self) -> Floats:
        """The sum of the counts of all classes, (d,)."""
        count: Floats = self.feature_count_.sum(axis=0)
        return count

    @property
    def feature_log_prob_(self) -> Floats:
        """The weight of each column for each class, −log θ_kj or its share of their sum, (K, d)."""
        return complement_weights(self.multinomial_prob_, bool(self._fitted_with["norm"]))
