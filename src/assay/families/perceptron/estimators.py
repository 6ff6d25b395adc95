"""The perceptron in every form of the lecture notes. Shape: ordered stream (`order="batch"`: repeated fold)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from assay.certify import Certificate, Claim
from assay.certify.certificate import fingerprint_of
from assay.engines import Block, Engine, Rows, engine_for
from assay.errors import DataError, ModelFileError
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Fact, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Free, Range, Seed, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.shown import Coefficients, densify, sparsify
from assay.estimator.steps import Step, checked, shown_of, some_of
from assay.families.linear.fit import count_free
from assay.families.perceptron.claims import (
    COVERAGE,
    SEPARATION_LAYOUT,
    PerceptronEvidence,
    claims_of,
    kept,
    separation_claims_of,
    warn_unfinished,
)
from assay.families.perceptron.evaluation import (
    BackgroundFingerprint,
    class_factors,
    evaluate,
    linear_scores,
    mean_weights,
    vote,
)
from assay.families.perceptron.fit import PerceptronRun, begin, given_start, rule_of, run_passes
from assay.inputs import as_rows, check_features
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_balanced, refuse_unlisted
from assay.numerics import Array, Floats
from assay.store import Record

CHEAP = 2_000_000  # numbers in a table that is small enough to ask for a separator after every fit that found none

LAYOUT: Mapping[str, Tensor | Fact] = {
    "coef_": Tensor(("m", "d"), doc="the weights w of the columns: one row for two classes, else one a class"),
    "intercept_": Tensor(("m",), doc="the bias b of each row of `coef_`"),
    "class_factor_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight"),
    "start_": Tensor(("m", "e"), doc="the first weights (b, w_1, …, w_d), e = d + 1 numbers"),
    "last_": Tensor(("m", "e"), optional=True, doc="of variant='averaged': the last weights, from which partial_fit goes on"),
    "drift_": Tensor(("m", "e"), optional=True, doc="of variant='averaged': the sum from which the average is made"),
    "voters_": Tensor(("V", "m", "e"), optional=True, doc="of variant='voted': all V weights there were"),
    "votes_": Tensor(("V",), dtype="<i8", low=0, optional=True, doc="of variant='voted': how many visits each of them survived"),
    "n_iter_": Fact(int, low=0, doc="the passes over the rows (order='first-mistake': searches)"),
    "t_": Fact(int, low=0, doc="the rows visited so far, over all passes"),
    "mistakes_": Fact(int, low=0, doc="the mistakes made on the way, each of which changed the weights"),
    "converged_": Fact(bool, doc="whether the last pass made no more mistakes than tol allows"),
    "history_": Fact(str, doc="'fit' for one fit of all rows, 'pieces' where partial_fit brought all rows, 'mixed' for both"),
    "sparse_": Fact(bool, doc="whether the rows were sparse"),
    "step_sum_": Fact(float, low=0, doc="the sum of the lengths of all corrections' steps"),
    "step_squares_": Fact(float, low=0, doc="the sum of the squares of these lengths"),
    "radius_": Fact(float, low=0, optional=True, doc="R, the greatest length of a row with its 1 in front; absent after partial_fit"),
    "least_margin_": Fact(float, optional=True, doc="the least t·⟨w, x̃⟩ over all rows; positive where all are answered rightly"),
    "rows_": Fact(int, low=0, optional=True, doc="the number of rows of positive weight"),
    "weight_": Fact(float, low=0, optional=True, doc="the total weight of these rows"),
    "wrong_": Fact(int, low=0, optional=True, doc="the rows of the fit that are answered wrongly at the end"),
    "wrong_weight_": Fact(float, low=0, optional=True, doc="the weight of the rows that are answered wrongly"),
    **SEPARATION_LAYOUT,
}  # fmt: skip


class Perceptron(Classifier):
    """The perceptron: at a mistake the row is added to the weights, or taken from them. Shape: ordered stream.

        s = ⟨w, x̃⟩,  x̃ = (1, x);    answer: the greater class (+1) where s ≥ 0, else the lower one (−1)
        at a mistake:  w ← w + ε·y·x̃         (K > 2 classes: argmax ⟨w_k, x̃⟩;  w_y ← w_y + ε·x̃,  w_ŷ ← w_ŷ − ε·x̃)

    `order` says which row comes next; ε = `eta0`:

    - "cyclic" (the notes' w − ε(sgn(w·x̃) − c)x̃, c ∈ {0, 1}, sgn(0) = 1): row after row, until a pass makes no mistake;
      `shuffle` visits the rows of each block in a new random order in each pass;
    - "random" (the notes' w̃ + ½(y − ŷ)x̃ of some row): rows are drawn with replacement, n draws a pass; after each pass all rows
      are looked at, and no mistake ends it. Draws stay within a block of rows (tables of up to `assay.engines.block_rows(d)`
      rows are one), blocks come in order, and draws are keyed by (random_state, pass, block): the same on every engine;
    - "first-mistake" (PLA, from w = 0): the first row with y⟨w, x̃⟩ ≤ 0 — here a score of 0 is a mistake for either class — is
      corrected, and the search begins again with the first row. `max_iter` counts the searches;
    - "batch": w ← w + ε Σ y·x̃ over all mistakes of w, with sgn(0) = 1 as in "cyclic" (a strict y·s < 0 would never leave w = 0).
      A fold a pass: threads and cluster help. In the other orders each visit depends on the one before: more threads or a cluster
      bring no speed, only the same bits; reading runs ahead.

    It stops at the first pass without a mistake, or where the share of mistakes in a pass is at most `tol`. `variant`: "last" answers
    with the last weights, "averaged" with their average over all visits, "voted" with the vote of all weights there were, each
    with as many votes as it survived visits (at most `max_voters`; `coef_` are then the last). A weight of a row (or class)
    multiplies its step, as in scikit-learn; rows of weight 0 are not visited. Only for "batch" is a row of weight n the same as
    n rows. `partial_fit` visits new rows once, in order (batch: one step).

    Certificate
    -----------
    The visits, made again from the stated start, give these weights with as many mistakes; where all rows are answered rightly,
    no more mistakes than (R/γ)²; whether any weights could separate the classes, with a witness either way.

    See Also
    --------
    KernelPerceptron : the same in the feature space of a kernel.
    LinearSVC : the separator of widest margin.

    Examples
    --------
    The example of the notes:

    >>> model = Perceptron(init=[0, -1, 1]).fit([[2, -1], [2, 1], [1, 3]], [1, 1, 0])
    >>> model.intercept_, model.coef_, model.mistakes_
    (array([1.]), array([[ 2., -2.]]), 3)
    """

    title = "Perceptron"
    name = "perceptron"
    takes_sparse = True
    ends_by_itself = False  # rows that nothing separates never end it
    order: str = param("which row is visited next", default="cyclic", check=Choice(("cyclic", "random", "first-mistake", "batch")))  # fmt: skip
    eta0: float = param("the step ε of a correction, by which the row is taken times", default=1.0, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    init: Any = param("first weights, bias first: (b, w_1, …, w_d), for K > 2 classes K such rows; None: zeros; 'random': drawn close to zero", default=None, check=Free("d + 1 numbers (K rows of them)", words=(None, "random")))  # fmt: skip
    max_iter: int = param("most passes over the rows (order='first-mistake': most searches)", default=1000, check=Range(int, low=1))  # fmt: skip
    tol: float | None = param("stop once a pass has at most this share of mistakes; None: at none", default=None, check=Range(low=0, high=1, words=(None,)))  # fmt: skip
    fit_intercept: bool = param("fit b as well; otherwise b = 0 and x̃ = x", default=True)
    variant: str = param("which of the weights under way give the answer", default="last", says={"averaged": "averaged", "voted": "voted"}, check=Choice(("last", "averaged", "voted")))  # fmt: skip
    shuffle: bool = param("order='cyclic': visit the rows of a block in a new random order in each pass", default=False)
    max_voters: int = param("most weight vectors that variant='voted' may keep", default=10_000, check=Range(int, low=1))  # fmt: skip
    random_state: int | None = param("seed of draws, shuffles and init='random'; None: 0", default=0, check=Seed(words=(None,)))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS
    coverage = COVERAGE
    layout = LAYOUT
    step_word = "visit"

    coef_ = Coefficients()
    intercept_: Floats = attribute()
    start_: Floats = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The average of the weights, then the last ones; passes are bounded, as rows that nothing separates never end them."""
        if kind != "classifier":
            return None
        tried = (("averaged", 5), ("averaged", 50), ("last", 50))
        return SearchSpace(search=tuple({"variant": v, "max_iter": passes} for v, passes in tried), scaled=True)

    sparsify, densify = sparsify, densify

    def complexity(self) -> float:
        """The weights and biases ≠ 0, of K > 2 classes at most K − 1 a column; variant="voted": of all voters together."""
        self._check_fitted()
        if hasattr(self, "voters_"):
            return float(sum(count_free(W[:, 1:], W[:, 0], len(W) > 1) for W in self.voters_))
        return count_free(self._part("coef_"), self.intercept_, len(self._part("coef_")) > 1)

    @property
    def depends_on_order(self) -> bool:
        """Whether the order of the rows matters (then neither is a row of weight n the same as n rows)."""
        return self.order != "batch"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = (
            True  # where no weights separate the rows, nothing is promised of the last ones
        )
        return tags

    # --- learning ---------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Visit more rows once, in their order, from the present weights (order="batch": one step of all their mistakes).

        `classes` lists every class that can ever occur; the first call needs it, later calls may repeat it.
        """
        refuse_unlisted(self, classes)
        refuse_balanced(self)
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        rule, whole = rule_of(self), afresh and classes is None
        rows = engine.keep(rows) if self.order == "batch" else rows
        labels = self._classes_of(engine, rows, afresh, classes)
        factor = self._factors(engine, rows, labels, whole)
        run = PerceptronRun(rule, begin(self, rows.n_columns, afresh), rows.names, int(self.max_voters))
        ahead = BackgroundFingerprint(engine, rows, labels) if whole and self.order != "batch" else None
        most = int(self.max_iter) if whole else None
        ended = run_passes(run, engine, rows, labels, factor, self.tol or 0.0, most)
        self.n_iter_ = ended.passes
        self._keep(run, ended.converged)
        self._provenance, self.sparse_ = {}, bool(rows.sparse)
        if whole:
            self._look_back(run, engine, rows, labels, factor, None if ahead is None else ahead.result())
            if not self.converged_:
                if self._asks and rows.n_columns * self.rows_ <= CHEAP and np.all(self.class_factor_ > 0):
                    self._keep_separation(engine, rows, labels)
                warn_unfinished(self)
        self.history_ = "fit" if whole else "pieces" if afresh or self._goes_on() else "mixed"
        self._state_claims()

    _asks = True  # whether a fit that does not end asks why; `certify` always does

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A fit for each of the settings. None asks whether the rows can be separated at all: that takes longer than the fit."""
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            model._asks = False
            yield model.fit(X)

    def _goes_on(self) -> bool:
        """Whether these rows and the earlier ones are still one pass over all of them."""
        same = all(self._fitted_with[k] == v for k, v in self.get_params().items() if k not in ("n_jobs", "init"))
        return same and self.history_ == "pieces" and self.order != "batch"

    def _factors(self, engine: Engine, rows: Rows, labels: Labels, whole: bool) -> Floats | None:
        """The factor of each class (`class_factor_`), or None where all are 1."""
        self.class_factor_ = class_factors(self.class_weight, engine, rows, labels, whole)
        return None if np.all(self.class_factor_ == 1) else self.class_factor_

    def _keep(self, run: PerceptronRun, converged: bool) -> None:
        """What was learnt, from the weights under way."""
        S = run.S
        self.t_, self.mistakes_ = int(S.counts[0]), int(S.counts[1])
        self.step_sum_, self.step_squares_ = float(S.sums[0]), float(S.sums[1])
        self.converged_ = bool(converged)
        self._keep_weights(run)
        if self.variant == "voted":
            self.voters_, self.votes_ = S.voters[: S.counts[2]].copy(), S.votes[: S.counts[2]].copy()

    def _keep_weights(self, run: PerceptronRun) -> None:
        S = run.S
        if self.variant == "averaged":
            self.last_, self.drift_ = np.column_stack([S.b, S.w]), np.column_stack([S.ub, S.u])
            mean = mean_weights(self.last_, self.drift_, int(S.counts[0]))
            self.intercept_, self.coef_ = mean[:, 0].copy(), mean[:, 1:].copy()
        else:
            self.intercept_, self.coef_ = S.b, S.w

    def _look_back(
        self, run: PerceptronRun, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, mark: bytes | None
    ) -> None:
        """One more pass over all rows: radius, margin and mistakes of the last weights; and the rows' fingerprint."""
        rest = engine, rows, labels, factor, run.rule.one, rows.names
        found = evaluate(*rest, run.S.w, run.S.b, mark)
        self.radius_, self.least_margin_ = float(np.sqrt(found.square)), found.margin
        self.converged_ |= found.wrong == 0 and (found.margin > 0 or not run.rule.zero)
        answers = found if self.variant != "averaged" else evaluate(*rest, self._part("coef_"), self.intercept_)
        self.rows_, self.weight_ = found.rows, found.weight
        self.wrong_, self.wrong_weight_ = answers.wrong, answers.wrong_weight
        self._provenance = {"fingerprint": found.mark.hex()}

    def _keep_separation(self, engine: Engine, rows: Rows, labels: Labels) -> None:
        """Whether any weights could be right on all rows, with the evidence; more than two classes are not asked for."""
        if len(labels.classes) == 2:
            from assay.solvers.separation.separation import separate

            vars(self).update(kept(separate(engine, rows, labels, space=self._space())))

    def _space(self) -> Any:
        return "augmented" if self.fit_intercept else "linear"

    # --- certificate and file ---------------------------------------------------------------------------------------

    def _make_claims(self) -> tuple[Claim, ...]:
        more = separation_claims_of(self, self._space()) if self.history_ == "fit" else ()
        return (*claims_of(PerceptronEvidence.of(self)), *more)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Add whether any weights are right on all rows of the fit: the greatest margin and its bound, or rows that prove the
        contrary. For more than two classes the certificate stays as it is."""
        self._check_fitted()
        if len(self.classes_) > 2 or self.history_ != "fit" or hasattr(self, "separable_"):
            return self.certificate_
        rows = as_rows(X, y, sample_weight, sparse=True).fitted_to(self._column_names(), self._categories)
        check_features(self, rows)
        if fingerprint_of(rows, self.classes_) != self._provenance.get("fingerprint"):
            raise DataError(
                "certify needs the rows of the fit, and these are others (or in another order): give the same X, y."
            )
        engine = engine_for(rows, self.n_jobs)
        others = self._claims[len(self._own_claims()) :]
        self._keep_separation(engine, engine.open(rows), Labels.of(self.classes_))
        self._claims = (*self._own_claims(), *others)
        return self.certificate_

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        check_parts(self)

    # --- steps ------------------------------------------------------------------------------------------------------

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The visits of a fit, one after another (every `every`-th and the last; order="batch": the passes).

        Each step's values: `w` after it (bias first), `row` visited, its `score` under the weights before, the `prediction`,
        and the `update`, what was added to w. Measured are the mistakes so far and, where it is known, their bound.
        """
        from assay.families.perceptron.steps import steps_of

        return some_of(steps_of(self, X, y, sample_weight, checked(every) or 1), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """The visits (order="batch": passes) of a whole fit; None before."""
        if getattr(self, "history_", None) != "fit":
            return None
        return shown_of(self.n_iter_ if self._fitted_with["order"] == "batch" else self.t_, every)

    @classmethod
    def step_word_of(cls, params: Mapping[str, Any]) -> str:
        """A visit of a row; order="batch": a pass over all."""
        return "pass" if params.get("order") == "batch" else cls.step_word

    # --- answering --------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """The score of each row, ≥ 0 for the greater of two classes; (n, K) for more classes.

        For `variant="voted"` the share of votes: from −1 (all for the lower class) to 1, or of each class.
        """
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 0] if Z.shape[1] == 1 else Z

    def _predict_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        codes = (Z[:, 0] >= 0).astype(np.intp) if Z.shape[1] == 1 else Z.argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def _scores(self, X: Any) -> Floats:
        """(n, 1) for two classes, else (n, K)."""
        if self.variant == "voted" and hasattr(self, "voters_"):
            return vote(X, self.voters_, self.votes_)
        return linear_scores(X, self._part("coef_"), self.intercept_)


def check_parts(model: Perceptron) -> None:
    """Refuse a file whose parts do not belong together."""
    K, d = len(model.classes_), model.n_features_in_
    if model._part("coef_").shape[0] != (1 if K == 2 else K) or model.start_.shape[1] != d + 1:
        raise ModelFileError(f"The model file's weights do not fit {K} classes and {d} columns.")
    if not np.array_equal(model.start_, given_start(model, len(model.start_), d)):
        raise ModelFileError("The model file's first weights are not those of its hyper-parameter init.")
    given = model.class_weight
    if not isinstance(given, str) and not np.array_equal(
        model.class_factor_, class_multipliers(given, model.classes_, np.ones(K))
    ):
        raise ModelFileError(
            "The model file's weights of the classes are not those of its hyper-parameter class_weight."
        )
    if model.history_ not in ("fit", "pieces", "mixed"):
        raise ModelFileError(f"The model file tells of a history {model.history_!r} that cannot be.")
    parts = {name for name in ("last_", "drift_", "voters_", "votes_") if hasattr(model, name)}
    due = {"averaged": {"last_", "drift_"}, "voted": {"voters_", "votes_"}}.get(model.variant, set())
    if parts != due:
        raise ModelFileError(f"The model file's parts {sorted(parts)} are not those of variant={model.variant!r}.")
    here = np.column_stack([model.intercept_, model._part("coef_")])
    follows = here
    if model.variant == "averaged":
        follows = mean_weights(model.last_, model.drift_, model.t_)
    elif model.variant == "voted":
        follows = model.voters_[-1] if len(model.voters_) else np.full_like(here, np.nan)
    if not np.array_equal(here, follows):
        raise ModelFileError(f"The model file's coefficients do not follow from its variant {model.variant!r}.")
