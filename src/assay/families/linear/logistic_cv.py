"""Logistic regression whose penalty is chosen by cross-validation. Shape: repeated fold, for each fold and strength."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Engine, Rows, targets_of
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Free, Range, Several, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.claims import COVERAGE, LOOSEST, cross_validation_claim
from assay.families.linear.cross_validated import (
    CV,
    MOST_TRIED,
    SURE,
    stratified_folds_asked,
    weights_of_folds,
    with_folds,
)
from assay.families.linear.elastic_net import FIT_INTERCEPT, RANDOM
from assay.families.linear.fit import LAYOUT, LinearClassifier, LinearTask
from assay.families.linear.logistic import OURS, THEIRS, LogisticRegression
from assay.families.linear.problem import Objective
from assay.numerics import Floats
from assay.statistics.folds import fold_pair
from assay.store import Record

CHOSEN: Layout = {
    "C_": Fact(float, low=0, doc="the chosen strength, as one over that of the penalty"),
    "l1_ratio_": Fact(float, low=0, doc="the chosen share of ‖w‖₁ in the penalty"),
    "ratios_": Tensor(("r",), low=0, high=1, doc="the shares of ‖w‖₁ that were tried"),
    "strengths_": Tensor(("r", "a"), low=0, doc="the values of C that were tried, rising, of each share"),
    "fold_errors_": Tensor(("r", "a", "f"), low=0, doc="the share of rows of each fold that the fits without it got wrong; of scoring='neg_log_loss' the mean log loss"),
    "fold_weights_": Tensor(("f", "m", "e"), doc="the weights (w_1, …, w_d, b) of the fit without each fold, at the choice"),
    "folds_": Tensor(("n",), dtype="<i8", low=-1, optional=True, doc="the fold of each row, where cv did not just say how many; -1: weight zero"),
    "cv_error_": Fact(float, low=0, doc="the mean error over all folds, at the choice"),
    "sure_": SURE,
}  # fmt: skip


class LogisticRegressionCV(LinearClassifier):
    """Logistic regression whose penalty is chosen by cross-validation. Shape: repeated fold.

        C = argmin 1/k Σ_f share of fold f that the fit without it gets wrong (or its log loss),    then logistic regression with C on all rows

    Folds have about the same share of each class. `C_`, `scores_` and so on are those of scikit-learn with
    `use_legacy_attributes=False`.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound; and, as an estimate, that the fits without
    each fold are minima with the errors that are stated, of which the mean at the choice is the least.

    See Also
    --------
    LogisticRegression : for a given penalty.
    RidgeClassifierCV : by leave-one-out, in closed form.

    Examples
    --------
    >>> X, y = [[i] for i in range(20)], [0] * 9 + [1, 0] + [1] * 9
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0], cv=4).fit(X, y)
    >>> model.C_, model.predict([[3], [17]]).tolist()
    (0.01, [0, 1])
    """

    title = "Logistic regression by folds"
    name = "logistic-regression-cv"
    scores_are_log_joint = True
    layout: ClassVar[Layout] = {**LAYOUT, **CHOSEN}
    coverage = Coverage(
        proof={**COVERAGE.proof, "duality_gap": "C_"},
        estimate={"cross_validation": "fold_weights_ l1_ratio_"},
        nothing=COVERAGE.nothing + " ratios_ strengths_ fold_errors_ cv_error_ folds_ sure_",
        but=COVERAGE.but
        + "; of the errors on folds those of the choice are counted again, and those of other strengths are stated",
    ).within(layout)
    depends_on_order: ClassVar[bool] = True  # folds are made of rows
    Cs: Any = param("how many values of C are tried, from 1e-4 to 1e4, or the values themselves", default=10, check=Several("a whole number > 0, or numbers > 0", each=Range(low=0, open_low=True, open_high=True), alone=Range(int, low=1, high=MOST_TRIED)))  # fmt: skip
    l1_ratios: Any = param("shares of ‖w‖₁ in the penalty to choose from; None: 0", default=None, check=Several("numbers in [0, 1]", words=(None,), each=Range(low=0, high=1)))  # fmt: skip
    fit_intercept: bool = FIT_INTERCEPT
    cv: Any = CV
    dual: bool = param("accepted for scikit-learn's sake; it changes nothing", default=False)
    scoring: str | None = param("what is compared: the share of rows predicted rightly (None as well), or the mean log of the probability of the right class", default=None, check=Choice(("accuracy", "neg_log_loss"), words=(None,)))  # fmt: skip
    solver: str = param("how the minimum is found, as in LogisticRegression", default="auto", check=Choice((*OURS, *THEIRS)))  # fmt: skip
    tol: float = param("relative duality gap at which a fit is done", default=1e-6, check=Range(low=0, high=1))
    max_iter: int = param("most iterations of the solver; a fit that ends there warns", default=1000, check=Range(int, low=1))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    verbose: int = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))
    refit: bool = param("only True is supported: the weights are those of a fit on all rows", default=True, check=Free("True", check=lambda given: given is True))  # fmt: skip
    intercept_scaling: float = param("s of solver='liblinear', which adds ½(b/s)² to the penalty, as in LogisticRegression", default=1.0, check=Range(low=0, open_low=True))  # fmt: skip
    random_state: Any = RANDOM
    use_legacy_attributes: Any = param("accepted for scikit-learn's sake: attributes are those of False", default=False, check=Free("False", words=("warn",), check=lambda given: given is False))  # fmt: skip
    n_jobs: int | None = N_JOBS

    C_: float = attribute()
    l1_ratio_: float = attribute()
    strengths_: Floats = attribute()
    ratios_: Floats = attribute()
    fold_errors_: Floats = attribute()
    fit_each = Estimator.fit_each

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: a comparison searches strengths itself."""
        return SearchSpace(scaled=True, when_named=True) if kind == "classifier" else None

    @property
    def Cs_(self) -> Floats:
        """The values of C that were tried, (n_cs,)."""
        self._check_fitted()
        return np.asarray(self.strengths_[0])

    @property
    def l1_ratios_(self) -> Floats:
        """The shares of ‖w‖₁ that were tried, (n_l1_ratios,)."""
        self._check_fitted()
        return self.ratios_

    @property
    def scores_(self) -> Floats:
        """`scoring` on each fold of the fits without it, (n_folds, n_l1_ratios, n_cs)."""
        self._check_fitted()
        best = 0.0 if self._fitted_with["scoring"] == "neg_log_loss" else 1.0
        return np.moveaxis(best - self.fold_errors_, 2, 0)

    def _objective(self, n_classes: int) -> Objective:
        chosen = self._plain().set_params(C=getattr(self, "C_", 1.0), l1_ratio=getattr(self, "l1_ratio_", 0.0))
        return replace(chosen._objective(n_classes), tol=float(self.tol))

    def _plain(self) -> LogisticRegression:
        """The fit of one strength."""
        same = ("fit_intercept", "solver", "tol", "max_iter", "class_weight", "intercept_scaling", "n_jobs")
        return LogisticRegression(**{name: getattr(self, name) for name in same})

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        rows = engine.keep(rows)
        task = super()._task(engine, rows, afresh, classes)
        self._choose(rows)
        return task._replace(objective=self._objective(len(self.classes_)))

    def _choose(self, rows: Rows) -> None:
        """Set what the cross-validation finds."""
        folds, k = stratified_folds_asked(self, rows)
        Cs = (
            np.logspace(-4, 4, int(self.Cs))
            if np.ndim(self.Cs) == 0
            else np.sort(np.asarray(self.Cs, dtype=np.float64))
        )
        ratios = np.atleast_1d(np.asarray(0.0 if self.l1_ratios is None else self.l1_ratios, dtype=np.float64))
        plain = self._plain()
        errors, kept = np.empty((len(ratios), len(Cs), k)), {}
        gaps = np.empty_like(errors)
        for f in range(k):
            fit_on, held_out = fold_pair(rows, folds, f)
            for r, ratio in enumerate(ratios):
                settings = [{"C": float(C), "l1_ratio": float(ratio)} for C in Cs]
                for a, fit in enumerate(plain.fit_each(fit_on, settings)):
                    errors[r, a, f] = self._error_of(fit, held_out)
                    kept[r, a, f] = fit._weights()
                    gaps[r, a, f] = fit.gap_.max()
        mean = errors.mean(axis=2)
        r, a = (int(at) for at in np.unravel_index(int(np.argmin(mean.round(12))), mean.shape))
        self.C_, self.l1_ratio_, self.cv_error_ = float(Cs[a]), float(ratios[r]), float(mean[r, a])
        self.ratios_, self.strengths_, self.fold_errors_ = ratios, np.tile(Cs, (len(ratios), 1)), errors
        self.sure_ = bool(gaps[r, a].max() <= self.tol <= LOOSEST)
        self.fold_weights_ = weights_of_folds(self, [kept[r, a, f] for f in range(k)])

    def _error_of(self, fit: LogisticRegression, held_out: Rows) -> float:
        """What a fit without a fold gets wrong of it."""
        if self.scoring != "neg_log_loss":
            return 1.0 - fit.score(held_out)
        y, w = targets_of(held_out)
        codes = np.searchsorted(fit.classes_, y)
        return float(np.average(-fit.predict_log_proba(held_out)[np.arange(len(codes)), codes], weights=w))

    def _make_claims(self) -> tuple[Claim, ...]:
        error = "log loss" if self.scoring == "neg_log_loss" else "share of errors"
        choice = cross_validation_claim(self._objective(len(self.classes_)), self, "C", error)
        return (*super()._make_claims(), choice)

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        return with_folds(self, super().to_record())
