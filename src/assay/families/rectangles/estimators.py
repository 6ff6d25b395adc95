"""Axis-aligned rectangles, the hypothesis class of the papaya example (Shalev-Shwartz and Ben-David, 2014, chapter 2)."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.engines.engine import Threads
from assay.errors import ModelFileError, ParameterError
from assay.estimator.classifier import Classifier
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Param, Range, Seed, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Measure, Step, answering, some_of
from assay.families.rectangles.claims import COVERAGE, claims_of
from assay.families.rectangles.fit import (
    ScoredRectangle,
    SharedRectangles,
    find,
    greedy,
    methods_for,
    plan_of,
    ranked_rows,
    tightest,
)
from assay.families.rectangles.rows import (
    Boxes,
    WholeWeights,
    answered_by,
    boxes_of,
    class_scores,
    few_digits,
    shift_for,
)
from assay.inputs.labels import class_multipliers, plain_labels
from assay.inputs.refusals import refuse_absent, refuse_heavy
from assay.numerics import Array, Floats
from assay.store import Record

SEARCHED = 100_000_000  # rows · columns · classes · rectangles up to which a comparison tries them: ten seconds or so
State = tuple[
    int, list[list[ScoredRectangle]], dict[str, int]
]  # rows seen, the rectangles of each class, what else is reported


@dataclass(frozen=True, kw_only=True)
class Label(Param):
    """A label of the target, or None."""

    def accepts(self, value: Any) -> bool:
        return value is None or isinstance(value, str | bool | np.bool_ | numbers.Real)

    def describe(self) -> str:
        return "a label of y or None"

    def parse(self, text: str) -> Any:
        return None if text.lower() == "none" else text


def code_of(label: Any, classes: Array) -> int:
    """The place of a label among two classes; None: the greater. The shell has only text, so the text of a label is as good as the label."""
    if label is None:
        return len(classes) - 1
    names = plain_labels(classes)
    for same in (lambda name: name == label, lambda name: str(name) == str(label)):
        for code, name in enumerate(names):
            if same(name):
                return code
    raise ParameterError(f"pos_label={label!r} is no class of y. Classes: {names[:10]}.")


class RectangleClassifier(Classifier):
    """A class is what lies in a rectangle: lower_j ≤ x_j ≤ upper_j in every column. Shape: one fold ("tightest"), else rows in memory.

        gain(R) = Σ_{i in R, class} w_i − Σ_{i in R, other} w_i,      weighted empirical error = Σ_class w_i − gain(R)

    `method` says which rectangle:

    - "tightest": the smallest that holds all rows of the class; with probability ≥ 1 − δ its error is at most ε once
      n ≥ (2d/ε)·log(2d/δ), if some rectangle is right on all rows that can be drawn;
    - "exact" (one or two columns): of the least weighted empirical error of all rectangles, or none where none gains anything;
    - "search": from the tightest and `n_init` − 1 random starts each column in turn gets the interval that is best while the others are held,
      until none can be improved: a local optimum, never worse than the tightest;
    - "auto": the tightest where it holds no other rows (then its error of 0 is the least); else "exact" for one column, or for two of up to
      10 000 rows; else "search".

    `n_rectangles`: the union of up to as many, found greedily: the next one has the most gain on the rows that those before do
    not cover; it ends where nothing is gained. Of rectangles of equal gain the first one found is kept, which does not depend on the order of the rows.

    Two classes: rectangles of `pos_label` (None: the greater class), all else is the other class. More classes: rectangles of each against
    the rest, and the answer is the class in whose rectangles a row lies deepest, or to whose it is nearest (the first of equal ones).
    Depth is min_j min(x_j − lower_j, upper_j − x_j) / (range of the column in the fit), of several rectangles the greatest: > 0 inside (on
    a side the least positive number), < 0 outside. `predict_proba` has the shares of the classes among the rows of the fit
    that are answered alike, each class's weight plus 1 (Laplace); the rectangle decides, so its class need not be the most probable.

    Certificate
    -----------
    Tightest: no smaller rectangle holds all rows of the class; exact: no rectangle has a smaller empirical error; search: no
    single column can be improved; the answers' error and probabilities.

    See Also
    --------
    DecisionTreeClassifier : boxes in numbers, found by splitting.
    NaiveBayes : each column by itself, with probabilities.

    Examples
    --------
    >>> papayas = [[0.4, 0.5], [0.6, 0.8], [0.5, 0.6], [0.1, 0.9], [0.9, 0.5]]
    >>> model = RectangleClassifier().fit(papayas, ["tasty", "tasty", "tasty", "not", "not"])
    >>> model.lower_, model.upper_, model.predict([[0.45, 0.7], [0.45, 0.2]]).tolist()
    (array([[0.4, 0.5]]), array([[0.6, 0.8]]), ['tasty', 'not'])
    """

    title = "Rectangles"
    name = "rectangle"
    scores_are_log_joint = True
    step_word = "change"
    method: str = param(
        "the tightest rectangle, the one of least error (at most two columns), or one that no single column improves",
        default="auto",
        kw_only=False,
        check=Choice(("auto", "tightest", "exact", "search")),
    )
    n_rectangles: int = param(
        "most rectangles of a class, found one after another", default=1, says="{} a class", check=Range(int, low=1)
    )
    pos_label: Any = param("of two classes the one that lies in rectangles; None: the greater", default=None, check=Label())  # fmt: skip
    n_init: int = param("starts of a search: the tightest rectangle and random ones", default=4, check=Range(int, low=1))  # fmt: skip
    random_state: int | None = param("seed of the random starts; None: 0", default=0, check=Seed(words=(None,)))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS
    coverage = COVERAGE
    layout: ClassVar[Layout] = {
        "lower_": Tensor(("R", "d"), doc="the lower limit of each of the R rectangles in each column"),
        "upper_": Tensor(("R", "d"), doc="the upper limit of each of the R rectangles in each column"),
        "owner_": Tensor(("R",), dtype="<i8", index="K", low=0, doc="the class of each rectangle, as a place in `classes_`"),
        "unit_": Tensor(("d",), low=0, doc="the range of each column in the fit, the unit of depths"),
        "class_factor_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight"),
        "class_rows_": Tensor(("K",), dtype="<i8", low=0, doc="the number of rows of each class"),
        "won_": Tensor(("R",), dtype="<i8", low=0, doc="the weight of the class's own rows that each rectangle gained, in units of 2^−shift_"),
        "lost_": Tensor(("R",), dtype="<i8", low=0, doc="the weight of other rows that each rectangle holds, in units of 2^−shift_"),
        "won_rows_": Tensor(("R",), dtype="<i8", low=0, doc="the class's own rows that each rectangle gained"),
        "lost_rows_": Tensor(("R",), dtype="<i8", low=0, doc="the rows of other classes that each rectangle holds"),
        "cells_": Tensor(("K", "K"), dtype="<i8", low=0, doc="the weight of the rows answered as class i that are of class j, in units of 2^−shift_"),
        "methods_": Fact(str, many=True, doc="how the rectangles of each class were found: 'tightest', 'exact' or 'search'"),
        "shift_": Fact(int, doc="weights are counted in units of 2^−shift_, so that their sums are exact"),
        "rows_": Fact(int, low=1, doc="the number of rows of positive weight"),
        "rounded_": Fact(bool, doc="whether weights had to be rounded to these units"),
    }  # fmt: skip

    lower_: Floats = attribute()
    upper_: Floats = attribute()
    owner_: Array = attribute()
    unit_: Floats = attribute()
    class_factor_: Floats = attribute()
    class_rows_: Array = attribute()
    won_: Array = attribute()
    lost_: Array = attribute()
    won_rows_: Array = attribute()
    lost_rows_: Array = attribute()
    cells_: Array = attribute()
    methods_: list[str] = attribute()
    shift_: int = attribute()
    rows_: int = attribute()
    rounded_: bool = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever more rectangles a class; those of the greatest number begin with those of all others, so all cost what that one costs."""
        if kind != "classifier":
            return None
        tried = (1, 2, 4, 8)
        work = features.rows * features.columns * (1 if features.classes == 2 else features.classes)
        unfit = None
        if work * tried[0] > SEARCHED:
            unfit = "so many rows, columns and classes would take the search too long"
        few = tuple(k for k in tried if work * k <= SEARCHED) or tried[:1]
        return SearchSpace(search=tuple({"n_rectangles": k} for k in few), unfit=unfit, rough={"n_init": 1})

    def complexity(self) -> float:
        """Two limits a column and rectangle; without any rectangle K − 1, as for a constant."""
        self._check_fitted()
        return float(max(len(self.classes_) - 1, 2 * self.lower_.size))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = (
            True  # where no rectangle describes the classes, nothing is promised of the best
        )
        return tags

    # --- learning ---------------------------------------------------------------------------------------------------

    def _places(self) -> Array:
        """The classes that have rectangles: the positive one of two, else all."""
        K = len(self.classes_)
        return np.array([code_of(self.pos_label, self.classes_)]) if K == 2 else np.arange(K)

    def _check_method(self, d: int) -> None:
        if self.method == "exact" and d > 2:
            raise ParameterError(
                f"RectangleClassifier: method='exact' is for one or two columns, and X has {d}: use method='search' or 'auto'."
            )
        if self.method == "tightest" and self.n_rectangles != 1:
            raise ParameterError(
                f"RectangleClassifier: method='tightest' is one rectangle a class, and n_rectangles={self.n_rectangles}: use "
                "method='auto', 'exact' or 'search' for more."
            )
        if self.pos_label is not None and len(self.classes_) > 2:
            raise ParameterError(
                f"RectangleClassifier: pos_label={self.pos_label!r} is for two classes, and y has {len(self.classes_)}: each of them has "
                "rectangles of its own. Leave pos_label=None."
            )

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        rows = engine.keep(rows)
        weighing, boxes = self._begin(engine, rows)
        found = find(self, engine, rows, weighing, boxes)
        self._keep([problem[: self.n_rectangles] for problem in found], rows.n_columns)
        answered = answered_by(self, engine, rows, weighing)
        self.won_, self.lost_, self.won_rows_, self.lost_rows_ = answered.covered
        self.cells_, self.rounded_ = answered.cells, answered.rounded
        self._provenance = {"fingerprint": boxes.mark.hex()}
        self._state_claims()

    def _begin(self, engine: Engine, rows: Rows) -> tuple[WholeWeights, Boxes]:
        """Classes, their boxes, and how rows are weighed."""
        labels = self._classes_of(engine, rows, True, None)
        self._check_method(rows.n_columns)
        self._places()  # an unknown pos_label ends it before any row is read
        boxes = boxes_of(engine, rows, labels)
        refuse_absent(self.classes_, boxes.weight, whole=True)
        self.class_factor_ = few_digits(class_multipliers(self.class_weight, self.classes_, boxes.weight))
        with np.errstate(over="ignore"):
            weight = boxes.weight * self.class_factor_
            total = float(weight.sum())
        refuse_heavy(np.array(total))
        counted = weight > 0
        if not counted.any():
            raise ParameterError(f"class_weight={self.class_weight!r} leaves no class with any weight.")
        plain = not rows.has_weight and bool(np.all(self.class_factor_ == 1))
        self.shift_ = 0 if plain else shift_for(total)
        self.class_rows_ = np.where(counted, boxes.rows, 0)
        self.rows_ = int(self.class_rows_.sum())
        with np.errstate(over="ignore"):
            width = boxes.high[counted].max(axis=0) - boxes.low[counted].min(axis=0)
        self.unit_ = np.where(width > 0, np.minimum(width, np.finfo(np.float64).max), 1.0)
        return WholeWeights(labels, self.class_factor_, self.shift_), boxes

    def _keep(self, found: list[list[ScoredRectangle]], d: int) -> None:
        flat = [(k, box) for k, problem in zip(self._places().tolist(), found) for box in problem]
        self.owner_ = np.array([k for k, _ in flat], dtype=np.int64)
        self.lower_ = np.array([box.lower for _, box in flat], dtype=np.float64).reshape(len(flat), d)
        self.upper_ = np.array([box.upper for _, box in flat], dtype=np.float64).reshape(len(flat), d)

    _shared: SharedRectangles | None = attribute(default=None)

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that differ in n_rectangles alone share one search."""
        models = [type(self)(**{**self.get_params(), **changed}) for changed in settings]
        shared: dict[str, SharedRectangles] = {}
        for model in models:
            alike = shared.setdefault(model._all_but_number(), SharedRectangles())
            alike.most = max(alike.most, int(model.n_rectangles))
        for model in models:
            model._shared = shared[model._all_but_number()]
            try:
                yield model.fit(X)
            finally:
                model._shared = None

    def _all_but_number(self) -> str:
        return repr({name: v for name, v in self.get_params().items() if name not in ("n_rectangles", "n_jobs")})

    # --- answering --------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """The depth of each row in the rectangles of the greater class, or less that in those of the lower one; (n, K) for more classes."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] if Z.shape[1] == 2 else Z

    def _scores(self, X: Array) -> Floats:
        return class_scores(X, self.lower_, self.upper_, self.unit_, self.owner_, self._places(), len(self.classes_))

    def _log_proba_block(self, block: Block) -> Array:
        weight = np.ldexp(self.cells_.astype(np.float64), -self.shift_) + 1.0
        shares: Array = np.log(weight / weight.sum(axis=1, keepdims=True))
        found: Array = shares[self._checked_scores(block).argmax(axis=1)]
        return found

    # --- certificate and file ---------------------------------------------------------------------------------------

    def _make_claims(self) -> tuple[Claim, ...]:
        return claims_of(self)

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        places = self._places()
        known = bool(np.isin(self.owner_, places).all())  # before anything is counted by them
        many = np.bincount(self.owner_ if known else places, minlength=len(self.classes_))
        good = (
            known
            and bool(np.all(self.lower_ <= self.upper_))
            and bool(np.all(np.diff(self.owner_) >= 0))
            and int(many.max(initial=0)) <= self.n_rectangles
            and bool(np.all(self.unit_ > 0))
            and abs(self.shift_) < 1 << 12
        )
        if not good:
            raise ModelFileError("The model file's rectangles do not fit together, or not its classes.")
        allowed = {"tightest", "exact", "search"} if self.method == "auto" else {self.method}
        if len(self.methods_) != len(places) or not set(self.methods_) <= allowed:
            raise ModelFileError(f"The model file's methods {self.methods_} are not those of method={self.method!r}.")
        if not self.cells_.astype(np.float64).sum() > 0:
            raise ModelFileError("The model file's counts of answers are all zero.")

    # --- steps ------------------------------------------------------------------------------------------------------

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The rectangles under way: of "tightest" after each row that makes one grow, else each better one (every `every`-th, and the last)."""

        return some_of(steps_of(self, X, y, sample_weight), every)


def steps_of(model: RectangleClassifier, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The states of a fit."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(1)
    weighing, boxes = fresh._begin(engine, rows)
    fresh.methods_ = methods_for(fresh, engine, rows, weighing, tightest(fresh, boxes))
    for number, (seen, found, more) in enumerate(_states(fresh, rows, weighing), 1):
        fresh._keep(found, rows.n_columns)
        values = {name: getattr(fresh, name) for name in ("lower_", "upper_", "owner_", "unit_")}
        state = answering(fresh, partial(_answers, copy(fresh), engine, rows, weighing))
        yield Step(number, seen, {**values, **more}, _measures(fresh, seen, found), state)


def _answers(model: RectangleClassifier, engine: Threads, rows: Rows, weighing: WholeWeights) -> dict[str, Any]:
    """What probabilities are made of: the rows that these rectangles answer with each class."""
    return {"cells_": answered_by(model, engine, rows, weighing).cells}


def _measures(model: RectangleClassifier, seen: int, found: list[list[ScoredRectangle]]) -> tuple[Measure, ...]:
    n = model.rows_
    rows = Measure("rows", float(seen), float(n), f"{seen} of {n} rows", better="up")
    if all(method == "tightest" for method in model.methods_):
        return (rows,)
    gain = float(np.ldexp(float(sum(box.gain for problem in found for box in problem)), -model.shift_))
    text = f"rows of the class inside less others inside: {gain:.6g} by weight"
    return (rows, Measure("gain of the rectangles", gain, None, text, better="up"))


def _states(model: RectangleClassifier, rows: Rows, weighing: WholeWeights) -> Iterator[State]:
    """First the rows pass by and the tightest rectangles grow, then those of the other classes are searched one after another."""
    n, places = rows.n_rows or 0, model._places().tolist()
    found: list[list[ScoredRectangle]] = [[] for _ in places]
    seen = 0
    for i, p, box in _growth(model, rows, weighing):
        found[p], seen = [box], i + 1
        yield seen, found, {"row": i}
    slow = [p for p, method in enumerate(model.methods_) if method != "tightest"]
    if not slow and seen < n:
        yield n, found, {}
        return
    table = ranked_rows(rows, weighing, 1) if slow else None
    for p in slow:
        assert table is not None
        for state in greedy(table, places[p], int(model.n_rectangles), plan_of(model, model.methods_[p], slowly=True)):
            found[p] = state
            yield n, found, {"class": places[p], "gain": sum(box.gain for box in state)}


def _growth(model: RectangleClassifier, rows: Rows, weighing: WholeWeights) -> list[tuple[int, int, ScoredRectangle]]:
    """(row, place of its class, box of the class's rows so far) of every row that makes a tightest rectangle grow."""
    X, y, w = rows.X, rows.y, rows.w
    codes = weighing.codes(y)
    weights, _ = weighing.weigh(codes, w)
    grown = []
    for p, (k, method) in enumerate(zip(model._places().tolist(), model.methods_)):
        mine = np.flatnonzero((codes == k) & (weights > 0))
        if method != "tightest" or not len(mine):
            continue
        A = np.asarray(X[mine], dtype=np.float64) + 0.0
        low, high = np.minimum.accumulate(A), np.maximum.accumulate(A)
        grows = np.any((low[1:] < low[:-1]) | (high[1:] > high[:-1]), axis=1)
        for t in [0, *(np.flatnonzero(grows) + 1).tolist()]:
            grown.append((int(mine[t]), p, ScoredRectangle(low[t], high[t], 0)))
    return sorted(grown, key=lambda one: one[0])
