"""Everything of one model beyond its entry in a comparison, worked out when it is first asked for.

For the learning curve, and for bias and variance, the model is fitted again and again with its setting fixed, on parts of its rows. The
encoding is learnt anew in every fit, as it was in the comparison; rows are named by their numbers, so that `assess` can draw them as it
likes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.assess import (
    BiasVariance,
    ClassScores,
    GroupRisk,
    Importance,
    LearningCurve,
    Reliability,
    Score,
    ThresholdCurve,
    Thresholds,
    bias_variance,
    learning_curve,
    per_class,
    permutation_importance,
    precision_recall,
    reliability,
    risk_by_group,
    roc,
    thresholds,
)
from assay.assess.distinct_rows import bins_of_rows, class_of_rows, of_distinct_rows, share_of_rows
from assay.assess.measure import count_answers
from assay.assess.worry import evenly
from assay.engines import engine_for
from assay.engines.csr import SparseMatrix
from assay.engines.engine import one_thread_blas
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.risk import Loss
from assay.risk.losses import LABEL
from assay.selection.comparison import Comparison, Entry
from assay.selection.data import TableData, row_losses
from assay.selection.judge import worth
from assay.selection.measured_fit import fitted_like
from assay.selection.raw_rows import RawRows, answers
from assay.selection.splits import each_once
from assay.selection.table_model import TableModel
from assay.selection.trial import quietly
from assay.tables.encoding import Encoding

MOST_TRAIN, MOST_TEST, ROUNDS = 2000, 1000, 20
TEST_SHARE = 0.25  # of the rows that were tested, at least so many test the refits
ABSOLUTE = Loss("absolute", LABEL, lambda p, y: np.abs(p - y))
SHUFFLED_ROWS = 2000  # tested rows on which columns are shuffled
SHUFFLED_COLUMNS = 40  # of a table with more columns, those that go most with the target by themselves
SHUFFLES = 3
GROUPED_COLUMNS = 4  # the most important columns, by which the risk is taken apart
WORST = 10
AS_ANSWERED = Loss("as answered", LABEL, lambda losses, _: losses)


def details(comparison: Comparison, name: str, *, dear: bool = False) -> Details:
    """The details of a finished model. `dear`: with those that need the model fitted anew many times."""
    entry = comparison[name]
    if not entry.done or entry.model is None or entry.answers is None:
        raise DataError(
            f"{name} was not finished ({entry.state}): there is nothing to look at. {entry.message}".strip()
        )
    return Details(comparison, entry, dear)


@dataclass(frozen=True)
class Details:
    """Of a finished model: curves, groups, importances, errors and, where `dear`, refits. Everything is on rows tested.

    Where several fits answered (folds), no interval is exact; where they answered a row more than once, intervals are those of
    the distinct rows.
    """

    comparison: Comparison
    entry: Entry
    dear: bool

    # --- the rows ---------------------------------------------------------------------------------------------------

    @property
    def model(self) -> TableModel:
        """The fit that was measured."""
        assert self.entry.model is not None
        return self.entry.model

    @property
    def handed_over(self) -> TableModel:
        """The fit that is handed over: on all rows, where the measured one was fitted again."""
        return self.comparison.refits.get(self.entry.name, self.model)

    @cached_property
    def truth(self) -> Array:
        """Labels or numbers of the tested rows."""
        found: Array = self.comparison.data.y[self.comparison.tested]
        return found

    @cached_property
    def answered(self) -> Array:
        """The answers as labels or numbers."""
        assert self.entry.answers is not None
        classes = self.comparison.data.classes
        values: Array = self.entry.answers.values
        return values if classes is None else classes[values]

    @cached_property
    def losses(self) -> Floats:
        return self.comparison.losses(self.entry.name)

    @property
    def several(self) -> bool:
        """Whether the answers are those of several fits."""
        return len(self.comparison.splits) > 1

    def _widened(self, score: Score) -> Score:
        """A score over all answers, with the interval that the distinct rows allow."""
        if not self.several and self.comparison.data.groups is None:
            return score
        return of_distinct_rows(replace(score, kind="approximate"), worth(self.comparison, self.entry))

    @cached_property
    def worth_of_a_row(self) -> float:
        """How much of a row of one test each distinct row is worth, where several fits answered."""
        return worth(self.comparison, self.entry) / len(each_once(self.comparison.tested))

    @cached_property
    def sample(self) -> RawRows:
        """At most 2000 of the tested rows, evenly spaced."""
        rows = each_once(self.comparison.tested)
        return RawRows.of(self.comparison.data, rows[evenly(len(rows), SHUFFLED_ROWS)])

    @property
    def fitted_on_tested_rows(self) -> bool:
        """Whether the model learnt from the tested rows too (it does unless a part was held out)."""
        return self.comparison.resampling.kind != "holdout"

    @cached_property
    def unseen(self) -> tuple[TableModel, RawRows]:
        """A fit, and rows that it never saw: the measured one and the rows held out; where every fold tested, so that the model has learnt
        from all rows, one fitted like it to some three quarters of them, and the others."""
        if not self.fitted_on_tested_rows:
            return self.model, self.sample
        train, test = refit_sides(self.comparison)
        if not self.comparison.data.learnable(train):
            return self.model, self.sample
        fresh, encoding = fitted_like(self.model, self.comparison.data, train)
        classes: list[Any] = [getattr(each, "classes_", None) for each in (fresh, self.model.model_)]
        calibration = self.model.calibration_ if np.array_equal(*classes) else None
        return TableModel(fresh, encoding, (), calibration), RawRows.of(self.comparison.data, test)

    # --- two classes ------------------------------------------------------------------------------------------------

    @cached_property
    def scores(self) -> Floats | None:
        """(m,): what ranks the rows of two classes, greater for the second; None where there is no such thing."""
        classes, given = self.comparison.data.classes, self.entry.answers
        if classes is None or len(classes) != 2 or given is None or len(np.unique(self.truth)) < 2:
            return None
        found = given.scores if given.P is None else given.P[:, 1]
        if found is None or found.ndim != 1 or np.isnan(found).any() or np.all(found == found[0]):
            return None
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def roc(self) -> ThresholdCurve | None:
        return None if self.scores is None else self._drawn(roc(self.truth, self.scores))

    @cached_property
    def precision_recall(self) -> ThresholdCurve | None:
        return None if self.scores is None else self._drawn(precision_recall(self.truth, self.scores))

    def _drawn(self, curve: ThresholdCurve) -> ThresholdCurve:
        return replace(curve, area=self._widened(curve.area))

    @cached_property
    def thresholds(self) -> Thresholds | None:
        """Of the probabilities; every mistake costs one."""
        given = self.entry.answers
        if self.scores is None or given is None or given.P is None:
            return None
        found = thresholds(self.truth, self.scores)
        return replace(found, best_cost=self._widened(found.best_cost))

    # --- classes ----------------------------------------------------------------------------------------------------

    @cached_property
    def reliability(self) -> Reliability | None:
        classes, given = self.comparison.data.classes, self.entry.answers
        if classes is None or given is None or given.P is None or np.isnan(given.P).any():
            return None
        P = np.clip(given.P.astype(np.float64), 0.0, 1.0)  # single precision may round past 1
        found = reliability(self.truth, P, classes=classes)
        if not self.several:
            return found
        p = P[:, 1] if len(classes) == 2 else P.max(axis=1)
        return replace(
            found,
            bins=bins_of_rows(found.bins, p, self.comparison.tested, self.worth_of_a_row),
            error=self._widened(found.error),
        )

    @cached_property
    def confusion(self) -> Array | None:
        """(K, K): rows the truth, columns the answers."""
        classes = self.comparison.data.classes
        return None if classes is None else count_answers(self.truth, self.answered, classes)[: len(classes)]

    @cached_property
    def per_class(self) -> list[ClassScores]:
        classes = self.comparison.data.classes
        if classes is None:
            return []
        found = per_class(self.truth, self.answered, classes)
        if not self.several:
            return found
        of = [(self.truth == k, self.answered == k) for k in classes]
        return [class_of_rows(c, *marks, self.comparison.tested, self.worth_of_a_row) for c, marks in zip(found, of)]

    # --- columns ----------------------------------------------------------------------------------------------------

    @cached_property
    def importance(self) -> list[Importance]:
        """By how much the risk grows when a column of the table is shuffled in rows that the fit never saw, greatest first: a fit that knows
        its rows by heart leans on names and numbers that say nothing of new ones."""
        (model, rows), data, loss = self.unseen, self.comparison.data, self.comparison.loss
        groups = {name: rows.places()[name] for name in self.shuffled}
        X: Any = rows.X
        if isinstance(X, SparseMatrix):
            from scipy.sparse import csr_array

            X = csr_array((X.data, X.indices, X.indptr), shape=X.shape)

        def cost(X: Any) -> Floats:
            if hasattr(X, "tocsr"):
                X = X.tocsr()
                X.sort_indices()
                X.eliminate_zeros()
                X = SparseMatrix(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), X.shape[1])
            return row_losses(loss, data, rows.numbers, answers(model, X, data, loss))

        return permutation_importance(
            cost, X, np.zeros(len(rows)), groups=groups, loss=AS_ANSWERED, repeats=SHUFFLES, seed=0
        )

    @cached_property
    def shuffled(self) -> list[str]:
        """The columns that are shuffled: all, or those most correlated with the target and all text."""
        rows = self.sample
        if len(rows.plain) + len(rows.texts) <= SHUFFLED_COLUMNS:
            return [c.name for c in self.comparison.schema.used]

        strength = correlation(
            rows.values, self.comparison.data.codes[rows.numbers], self.comparison.data.classes is not None
        )
        kept = set(np.argsort(-strength, kind="stable")[: SHUFFLED_COLUMNS - len(rows.texts)].tolist())
        return [c.name for j, c in enumerate(rows.plain) if j in kept] + [c.name for c in rows.texts]

    @cached_property
    def groups(self) -> dict[str, list[GroupRisk]]:
        """The risk within the values of the columns that matter most; a row that was answered several times counts once, with its mean loss."""
        rows, place, times = np.unique(self.comparison.tested, return_inverse=True, return_counts=True)
        inside = np.searchsorted(rows, self.sample.numbers)  # the sample is one of tested rows
        losses = (np.bincount(place, weights=self.losses) / times)[inside]
        places = {c.name: j for j, c in enumerate(self.sample.plain)}
        found: dict[str, list[GroupRisk]] = {}
        for item in self.importance:
            if item.name not in places or item.increase.value <= 0 or len(found) == GROUPED_COLUMNS:
                continue
            risks = risk_by_group(losses, self._column(places[item.name]), most=8)
            if self.several:
                risks = [replace(g, risk=self._of_several(g.risk)) for g in risks]
            found[item.name] = risks
        return found

    def _of_several(self, risk: Score) -> Score:
        """The risk of some of the distinct rows, with the interval of what these are worth."""
        rows = risk.n * self.worth_of_a_row
        wider = (share_of_rows if risk.kind == "exact" else of_distinct_rows)(risk, rows)
        return replace(wider, kind="approximate", n=risk.n)

    def _column(self, j: int) -> Array:
        """A column of the sample: numbers as they are, categories and truth values in words."""
        from assay.selection.raw_rows import spoken

        column, values = self.sample.plain[j], self.sample.values[:, j]
        if column.kind == "number":
            return np.asarray(values, dtype=np.float64)
        if column.kind == "date":
            return np.asarray(values, dtype="datetime64[s]").astype("datetime64[Y]").astype(np.float64) + 1970
        return np.array([None if np.isnan(v) else spoken(column, float(v)) for v in values], dtype=object)

    # --- errors -----------------------------------------------------------------------------------------------------

    @cached_property
    def worst(self) -> list[WorstRow]:
        """The rows that cost most; of equally wrong answers those whose truth was given the least probability."""
        tested, given = self.comparison.tested, self.entry.answers
        assert given is not None
        P = None
        if given.P is not None:
            P = given.P[np.arange(len(tested)), self.comparison.truth].astype(np.float64)
        order = np.lexsort((tested, np.zeros(len(tested)) if P is None else P, -self.losses))
        order = order[self.losses[order] > 0]
        _, first = np.unique(tested[order], return_index=True)  # a row tested more than once is shown once
        order = order[np.sort(first)][:WORST]
        if not len(order):
            return []
        rows = RawRows.of(self.comparison.data, tested[order])
        place = np.searchsorted(rows.numbers, tested[order])
        return [
            WorstRow(
                int(tested[i]),
                self.truth[i],
                self.answered[i],
                None if P is None else float(P[i]),
                float(self.losses[i]),
                rows.in_words(int(at)),
            )
            for i, at in zip(order, place)
        ]

    # --- refits -----------------------------------------------------------------------------------------------------

    @cached_property
    def refits(self) -> Refits | None:
        """Learning curve and bias–variance: dear, since the model is fitted about 26 times."""
        return fit_again(self.comparison, self.model) if self.dear else None


@dataclass(frozen=True)
class WorstRow:
    """A row that cost much: its number in the table (from 0), the truth, the answer, what it cost, and its columns."""

    row: int
    truth: Any
    answer: Any
    probability: float | None  # that the model gave to the truth
    loss: float
    values: dict[str, str]


def correlation(X: Array, target: Array, classes: bool) -> Floats:
    """(d,): how much each column of X (n, d) says about the target by itself; missing values count as the column's mean.

    Numbers: r² of a straight line, the share of the target's variance that it explains. Classes: η², the share of the column's
    variance that lies between them.

    >>> correlation(np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]]), np.array([0, 0, 1, 1]), True)
    array([1., 0.])
    """
    X = np.asarray(X, dtype=np.float64)
    known = np.isfinite(X)
    count = np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, X, 0.0)
    centred = np.where(known, X - filled.sum(axis=0) / count, 0.0)
    total = (centred**2).sum(axis=0)
    if classes:
        K = int(target.max()) + 1
        sums = np.stack([centred[target == k].sum(axis=0) for k in range(K)])
        explained = (sums**2 / np.maximum(np.bincount(target, minlength=K), 1)[:, None]).sum(axis=0)
    else:
        t = target - target.mean()
        explained = (centred * t[:, None]).sum(axis=0) ** 2 / max(float(t @ t), 1e-300)
    return np.asarray(np.where(total > 0, explained / np.where(total > 0, total, 1.0), 0.0))


@dataclass(frozen=True)
class Refits:
    """`loss` is what the refits are judged by: the comparison's, where it looks at answers alone."""

    loss: str
    curve: LearningCurve
    parts: BiasVariance
    train_rows: int
    test_rows: int


@dataclass(frozen=True)
class _Refitted:
    model: TableModel
    data: TableData

    def predict(self, which: Array) -> Array:
        return self.model.model_.predict(self.data.encoded(self.model.encoding_, which))


def fit_again(comparison: Comparison, model: TableModel, *, rounds: int = ROUNDS, seed: int = 0) -> Refits:
    """Learning curve and decomposition of one model of a comparison, on at most 2000 rows to learn from and 1000 to test."""
    train, test = refit_sides(comparison, seed)
    numbers = np.union1d(train, test)
    rows = comparison.data.pick(numbers).in_memory()
    small = TableData.of(comparison.schema, rows, comparison.data.classes is not None)
    y = small.y
    learn, judge = (np.searchsorted(numbers, side) for side in (train, test))

    def fit(which: Array, _: Array) -> _Refitted:
        raw = small.pick(which)
        encoding = Encoding.learn(engine_for(raw), small.schema, model.encoding_.encoding_spec, raw)
        fresh = type(model.model_)(**model.model_.get_params())
        with quietly(), one_thread_blas():  # the fit on all rows has said what there is to say
            fresh.fit(small.encoded(encoding, which, of_fit=True))  # type: ignore[attr-defined]
        return _Refitted(TableModel(fresh, encoding), small)

    classes = comparison.data.classes is not None
    name = "zero-one" if classes else "absolute" if comparison.loss == "absolute" else "squared"
    sets = (learn, y[learn], judge, y[judge])
    curve = learning_curve(fit, *sets, seed=seed, loss=ABSOLUTE if name == "absolute" else name, stratified=classes)
    parts = bias_variance(fit, *sets, rounds=rounds, seed=seed, loss="zero-one" if classes else "squared")
    return Refits(name, curve, parts, len(learn), len(judge))


def refit_sides(comparison: Comparison, seed: int = 0) -> tuple[Array, Array]:
    """Rows to learn from and rows to test on that never mix what the comparison kept apart.

    Of a single split its two sides; of a split by time the last one; of folds as many as hold a quarter of the rows, against the rest.
    """
    rng = np.random.default_rng(seed)
    splits = comparison.splits
    chosen = splits[-1] if comparison.resampling.kind == "time" else splits[0]
    train, test = each_once(chosen.train), each_once(chosen.test)
    everything = each_once(comparison.tested)
    if len(splits) > 1 and comparison.resampling.kind != "time" and len(test) < TEST_SHARE * len(everything):
        parts: list[Array] = []
        for k in rng.permutation(len(splits)):
            parts.append(splits[k].test)
            test = np.unique(np.concatenate(parts))
            if len(test) >= TEST_SHARE * len(everything):
                break
        train = np.setdiff1d(everything, test)
    return _some(train, MOST_TRAIN, rng), _some(test, MOST_TEST, rng)


def _some(rows: Array, most: int, rng: np.random.Generator) -> Array:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
