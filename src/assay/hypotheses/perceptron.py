"""The perceptron in every form of the lecture notes. Shape: ordered stream (`order="batch"`: repeated fold)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Certificate, Claim
from assay.certify.same_rows import fingerprint_of
from assay.engines import Block, Engine, Rows, engine_for
from assay.errors import ConvergenceWarning, DataError, ModelFileError, ParameterError, as_seen_by_sklearn
from assay.hypotheses.linear.freedom import count_free
from assay.hypotheses.perceptron_answers import linear_scores, vote
from assay.hypotheses.perceptron_claims import Evidence, claims_of
from assay.hypotheses.perceptron_look import MarkAhead, class_counts, look
from assay.hypotheses.perceptron_run import FIRST_VOTERS, Pieces, Rule, Run
from assay.hypotheses.perceptron_separation import SEPARATION_LAYOUT, kept, separation_claims_of
from assay.inputs import as_rows, check_features
from assay.labels import Labels, class_multipliers, plain_labels
from assay.learner import Classifier, Fact, Step, Tensor
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, Flag, Free, Param, Range
from assay.store import Record

CHEAP = 2_000_000  # numbers in a table that is small enough to ask for a separator after every fit that found none


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
    n rows. `partial_fit` visits new rows once, in order (batch: one step). The example of the notes:

    >>> model = Perceptron(init=[0, -1, 1]).fit([[2, -1], [2, 1], [1, 3]], [1, 1, 0])
    >>> model.intercept_, model.coef_, model.mistakes_
    (array([1.]), array([[ 2., -2.]]), 3)
    """

    name = "perceptron"
    takes_sparse = True
    ends_by_itself = False  # rows that nothing separates never end it
    params: ClassVar[Mapping[str, Param]] = {
        "order": Choice(options=("cyclic", "random", "first-mistake", "batch"), doc="which row is visited next"),
        "eta0": Range(low=0, open_low=True, open_high=True, doc="the step ε of a correction"),
        "init": Free(
            doc="first weights, bias first: (b, w_1, …, w_d), for K > 2 classes K such rows; None: zeros",
            what="d + 1 numbers (K rows of them)",
            words=(None,),
        ),
        "max_iter": Range(kind=int, low=1, doc="most passes over the rows (order='first-mistake': most searches)"),
        "tol": Range(
            low=0, high=1, words=(None,), doc="stop once a pass has at most this share of mistakes; None: at none"
        ),
        "fit_intercept": Flag(doc="fit b as well; otherwise b = 0 and x̃ = x"),
        "variant": Choice(options=("last", "averaged", "voted"), doc="which of the weights under way give the answer"),
        "shuffle": Flag(doc="order='cyclic': visit the rows of a block in a new random order in each pass"),
        "max_voters": Range(kind=int, low=1, doc="most weight vectors that variant='voted' may keep"),
        "random_state": Range(kind=int, low=0, words=(None,), doc="seed of draws and shuffles; None: 0"),
        "class_weight": CLASS_WEIGHT,
        "n_jobs": N_JOBS,
    }
    layout: ClassVar[Mapping[str, Tensor | Fact]] = {
        "coef_": Tensor(("m", "d")),
        "intercept_": Tensor(("m",)),
        "class_factor_": Tensor(("K",), low=0),
        "start_": Tensor(("m", "e")),
        "last_": Tensor(("m", "e"), optional=True),
        "drift_": Tensor(("m", "e"), optional=True),
        "voters_": Tensor(("V", "m", "e"), optional=True),
        "votes_": Tensor(("V",), dtype="<i8", low=0, optional=True),
        "n_iter_": Fact(int, low=0),
        "t_": Fact(int, low=0),
        "mistakes_": Fact(int, low=0),
        "converged_": Fact(bool),
        "history_": Fact(str),
        "sparse_": Fact(bool),
        "step_sum_": Fact(float, low=0),
        "step_squares_": Fact(float, low=0),
        "radius_": Fact(float, low=0, optional=True),
        "least_margin_": Fact(float, optional=True),
        "rows_": Fact(int, low=0, optional=True),
        "weight_": Fact(float, low=0, optional=True),
        "wrong_": Fact(int, low=0, optional=True),
        "wrong_weight_": Fact(float, low=0, optional=True),
        **SEPARATION_LAYOUT,
    }

    def __init__(
        self,
        *,
        order: str = "cyclic",
        eta0: float = 1.0,
        init: Any = None,
        max_iter: int = 1000,
        tol: float | None = None,
        fit_intercept: bool = True,
        variant: str = "last",
        shuffle: bool = False,
        max_voters: int = 10_000,
        random_state: int | None = 0,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.eta0 = eta0
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.variant = variant
        self.shuffle = shuffle
        self.max_voters = max_voters
        self.random_state = random_state
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    coef_: Floats
    intercept_: Floats

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """The average of the weights, then the last ones; passes are bounded, as rows that nothing separates never end them."""
        if kind != "classifier":
            return None
        tried = (("averaged", 5), ("averaged", 50), ("last", 50))
        return Prospect(search=tuple({"variant": v, "max_iter": passes} for v, passes in tried), scaled=True)

    def complexity(self) -> float:
        """The weights and biases ≠ 0, of K > 2 classes at most K − 1 a column; variant="voted": of all voters together."""
        self._check_fitted()
        if hasattr(self, "voters_"):
            return float(sum(count_free(W[:, 1:], W[:, 0], len(W) > 1) for W in self.voters_))
        return count_free(self.coef_, self.intercept_, len(self.coef_) > 1)

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
        if classes is None and not hasattr(self, "classes_"):
            raise DataError(
                "classes must be passed on the first call to partial_fit: list every class that can occur, "
                "e.g. partial_fit(X, y, classes=[0, 1])."
            )
        if self.class_weight == "balanced":
            raise ParameterError(
                "class_weight='balanced' needs all rows at once, and partial_fit sees some: give the weights as a dict, "
                "e.g. class_weight={0: 1.0, 1: 3.0}."
            )
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _rule(self) -> Rule:
        if self.shuffle and self.order != "cyclic":
            raise ParameterError(f"shuffle=True belongs to order='cyclic', and order={self.order!r}.")
        if self.variant != "last" and self.order == "batch":
            raise ParameterError(
                f"variant={self.variant!r} is made of single visits, and order='batch' has none: use variant='last' or "
                "another order."
            )
        if self.tol is not None and self.order == "first-mistake":
            raise ParameterError(
                "tol is a share of the mistakes of a pass, and order='first-mistake' makes none: tol=None."
            )
        return Rule(
            self.order, float(self.eta0), bool(self.shuffle), int(self.random_state or 0), float(self.fit_intercept)
        )

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        rule, whole = self._rule(), afresh and classes is None
        rows = engine.keep(rows) if self.order == "batch" else rows
        labels = self._classes_of(engine, rows, afresh, classes)
        factor = self._factors(engine, rows, labels, whole)
        run = Run(rule, self._start(rows.n_columns, afresh), rows.names, int(self.max_voters))
        ahead = MarkAhead(engine, rows, labels) if whole and self.order != "batch" else None
        converged = self._passes(run, engine, rows, labels, factor, whole)
        self._keep(run, converged)
        self._provenance, self.sparse_ = {}, bool(rows.sparse)
        if whole:
            self._look_back(run, engine, rows, labels, factor, None if ahead is None else ahead.result())
            if not self.converged_:
                if self._asks and rows.n_columns * self.rows_ <= CHEAP and np.all(self.class_factor_ > 0):
                    self._keep_separation(engine, rows, labels)
                self._warn()
        self.history_ = "fit" if whole else "pieces" if afresh or self._goes_on() else "mixed"
        self._claims = self._make_claims()

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
        K = len(labels.classes)
        balanced = isinstance(self.class_weight, str)
        if rows.has_weight or balanced:
            counts = class_counts(engine, rows, labels, exact=balanced)
            self._check_present(counts, whole)
        else:
            counts = np.ones(K)
        self.class_factor_ = class_multipliers(self.class_weight, labels.classes, counts)
        if not np.any(counts * self.class_factor_ > 0):
            raise ParameterError(f"class_weight={self.class_weight!r} leaves no class with any weight.")
        return None if np.all(self.class_factor_ == 1) else self.class_factor_

    def _check_present(self, counts: Floats, whole: bool) -> None:
        present = np.flatnonzero(counts > 0)
        if not len(present):
            raise DataError("All sample weights are zero, so no class has any rows: give some rows a positive weight.")
        if whole and len(present) < 2:
            raise DataError(
                f"Only one class, {plain_labels(self.classes_)[present[0]]!r}, has rows of positive weight: a classifier needs at least two "
                "classes to tell apart."
            )

    def _start(self, d: int, afresh: bool) -> Any:
        """The weights to begin with: `init`, or those of the fit so far."""
        from assay.loops.perceptron import Online

        m = 1 if len(self.classes_) == 2 else len(self.classes_)
        averaged, voted = self.variant == "averaged", self.variant == "voted"
        if afresh:
            self.start_ = self._given_start(m, d)
            first, u = self.start_, np.zeros((m, d + 1))
            voters, votes = self.start_[None].repeat(FIRST_VOTERS, 0), np.zeros(FIRST_VOTERS, dtype=np.int64)
            sums, counts = np.zeros(3), np.array([0, 0, 1])
        else:
            self._check_going_on()
            first = self.last_ if averaged else np.column_stack([self.intercept_, self.coef_])
            u = self.drift_ if averaged else np.zeros((m, d + 1))
            voters, votes = (self.voters_.copy(), self.votes_.copy()) if voted else (self.start_[None], NO_VOTES)
            sums = np.array([self.step_sum_, self.step_squares_, 0.0])
            counts = np.array([self.t_, self.mistakes_, len(votes)])
        u = u if averaged else np.zeros((0, 1))
        voters, votes = (voters, votes) if voted else (voters[:0], NO_VOTES)
        w, b, u, ub = (np.array(a, order="C") for a in (first[:, 1:], first[:, 0], u[:, 1:], u[:, 0]))
        return Online(w, b, u, ub, sums, counts, np.ascontiguousarray(voters), votes)

    def _check_going_on(self) -> None:
        there = {"averaged": "drift_", "voted": "voters_"}.get(self.variant)
        if self._fitted_with["variant"] != self.variant or (there and not hasattr(self, there)):
            raise ParameterError(
                f"The model was fitted with variant={self._fitted_with['variant']!r}: partial_fit cannot go on with "
                f"variant={self.variant!r}. Fit again."
            )

    def _given_start(self, m: int, d: int) -> Floats:
        if self.init is None:
            return np.zeros((m, d + 1))
        try:
            start = np.array(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            start = np.empty(0)
        if m == 1 and start.ndim == 1:
            start = start[None]
        if start.shape != (m, d + 1) or not np.isfinite(start).all():
            what = f"{d + 1} finite numbers" if m == 1 else f"{m} rows (one a class) of {d + 1} finite numbers"
            raise ParameterError(
                f"{type(self).__name__}: init={self.init!r} must be {what}, the bias first: b, w_1, …, w_{d}."
            )
        if not self.fit_intercept:
            start[:, 0] = 0.0
        return start

    def _passes(self, run: Run, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, whole: bool) -> bool:
        """All passes of a fit (one, where rows are learnt in pieces); whether they met the rule to stop."""
        share, most = self.tol or 0.0, int(self.max_iter) if whole else 1
        self.n_iter_ = 1
        if self.order == "batch":
            for self.n_iter_ in range(1, most + 1):
                before = int(run.S.counts[0])
                wrong = run.batch_step(engine, rows, labels, factor)
                if wrong <= share * (int(run.S.counts[0]) - before):
                    return True
            return False
        pieces = Pieces(engine, rows, labels, factor, run.rule.eta)
        if not whole:
            before = run.mistakes
            visits = run.online_pass(pieces, 1, in_order=True)
            return run.mistakes - before <= share * visits
        if self.order == "first-mistake":
            done = run.first_mistakes(pieces, most)
            self.n_iter_ = run.mistakes + 1 if done else most
            return done
        for self.n_iter_ in range(1, most + 1):
            before = run.mistakes
            visits = run.online_pass(pieces, self.n_iter_)
            wrong = run.mistakes - before
            if self.order == "random":
                wrong = run.count_wrong(pieces, int(share * visits) + 1)
            if wrong <= share * visits:
                return True
        return False

    def _keep(self, run: Run, converged: bool) -> None:
        """What was learnt, from the weights under way."""
        S = run.S
        self.t_, self.mistakes_ = int(S.counts[0]), int(S.counts[1])
        self.step_sum_, self.step_squares_ = float(S.sums[0]), float(S.sums[1])
        self.converged_ = bool(converged)
        self._keep_weights(run)
        if self.variant == "voted":
            self.voters_, self.votes_ = S.voters[: S.counts[2]].copy(), S.votes[: S.counts[2]].copy()

    def _keep_weights(self, run: Run) -> None:
        S = run.S
        if self.variant == "averaged":
            self.last_, self.drift_ = np.column_stack([S.b, S.w]), np.column_stack([S.ub, S.u])
            mean = _mean(self.last_, self.drift_, int(S.counts[0]))
            self.intercept_, self.coef_ = mean[:, 0].copy(), mean[:, 1:].copy()
        else:
            self.intercept_, self.coef_ = S.b, S.w

    def _look_back(
        self, run: Run, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, mark: bytes | None
    ) -> None:
        """One more look at all rows: radius, margin and mistakes of the last weights; and the rows' fingerprint."""
        rest = engine, rows, labels, factor, run.rule.one, rows.names
        found = look(*rest, run.S.w, run.S.b, mark)
        self.radius_, self.least_margin_ = float(np.sqrt(found.square)), found.margin
        self.converged_ |= found.wrong == 0 and (found.margin > 0 or not run.rule.zero)
        answers = found if self.variant != "averaged" else look(*rest, self.coef_, self.intercept_)
        self.rows_, self.weight_ = found.rows, found.weight
        self.wrong_, self.wrong_weight_ = answers.wrong, answers.wrong_weight
        self._provenance = {"fingerprint": found.mark.hex()}

    def _keep_separation(self, engine: Engine, rows: Rows, labels: Labels) -> None:
        """Whether any weights could be right on all rows, with the evidence; more than two classes are not asked for."""
        if len(labels.classes) == 2:
            from assay.solvers.separation import separate

            vars(self).update(kept(separate(engine, rows, labels, space=self._space())))

    def _space(self) -> Any:
        return "augmented" if self.fit_intercept else "linear"

    def _warn(self) -> None:
        what = "searches" if self.order == "first-mistake" else "passes"
        known = getattr(self, "separable_", None)
        advice = {
            "no": "No weights are right on all rows (the certificate has the proof): allow a share of mistakes (tol=0.05), use "
            "variant='averaged', or fit a model that bears mistakes.",
            "yes": "Weights that are right on all rows exist (the certificate has them): raise max_iter.",
        }.get(
            str(known),
            "Raise max_iter"
            + (
                ", or ask whether any weights could do it: model.certify(X, y) and assay.separability(X, y) tell. "
                if len(self.classes_) == 2
                else " (assay.separability tells of each class against the rest only). "
            )
            + "Where none can, allow a share of mistakes (tol=0.05) or use variant='averaged'.",
        )
        warnings.warn(
            f"Perceptron: {self.max_iter} {what} did not end in one without a mistake; {self.wrong_} of {self.rows_} rows are on the "
            f"wrong side. {advice}",
            as_seen_by_sklearn(ConvergenceWarning),
            stacklevel=6,
        )

    # --- certificate and file ---------------------------------------------------------------------------------------

    def _make_claims(self) -> tuple[Claim, ...]:
        more = separation_claims_of(self, self._space()) if self.history_ == "fit" else ()
        return (*claims_of(Evidence.of(self)), *more)

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
        K, d = len(self.classes_), self.n_features_in_
        if self.coef_.shape[0] != (1 if K == 2 else K) or self.start_.shape[1] != d + 1:
            raise ModelFileError(f"The model file's weights do not fit {K} classes and {d} columns.")
        if not np.array_equal(self.start_, self._given_start(len(self.start_), d)):
            raise ModelFileError("The model file's first weights are not those of its hyper-parameter init.")
        given = self.class_weight
        if not isinstance(given, str) and not np.array_equal(
            self.class_factor_, class_multipliers(given, self.classes_, np.ones(K))
        ):
            raise ModelFileError(
                "The model file's weights of the classes are not those of its hyper-parameter class_weight."
            )
        if self.history_ not in ("fit", "pieces", "mixed"):
            raise ModelFileError(f"The model file tells of a history {self.history_!r} that cannot be.")
        parts = {name for name in ("last_", "drift_", "voters_", "votes_") if hasattr(self, name)}
        due = {"averaged": {"last_", "drift_"}, "voted": {"voters_", "votes_"}}.get(self.variant, set())
        if parts != due:
            raise ModelFileError(f"The model file's parts {sorted(parts)} are not those of variant={self.variant!r}.")
        here = np.column_stack([self.intercept_, self.coef_])
        follows = here
        if self.variant == "averaged":
            follows = _mean(self.last_, self.drift_, self.t_)
        elif self.variant == "voted":
            follows = self.voters_[-1] if len(self.voters_) else np.full_like(here, np.nan)
        if not np.array_equal(here, follows):
            raise ModelFileError(f"The model file's coefficients do not follow from its variant {self.variant!r}.")

    # --- steps ------------------------------------------------------------------------------------------------------

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The visits of a fit, one after another (every `every`-th and the last; order="batch": the passes).

        Each step's values: `w` after it (bias first), `row` visited, its `score` under the weights before, the `prediction`,
        and the `update`, what was added to w.
        """
        from assay.hypotheses.perceptron_steps import steps_of

        return steps_of(self, X, y, sample_weight, every or 1)

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
        return linear_scores(X, self.coef_, self.intercept_)


NO_VOTES = np.empty(0, dtype=np.int64)


def _mean(last: Floats, drift: Floats, visits: int) -> Floats:
    """The average of the weights over all visits: (T·w_T − u) / T."""
    return last - drift / max(1, visits)
