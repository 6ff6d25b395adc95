"""A table ready to be learnt from again and again: its schema, its rows (in memory or where they lie) and its targets; what a model
answers for its rows, and what each answer costs under the loss that a comparison is about.

zero-one 1{ŷ ≠ y}     log −log p(y | x)     brier Σ_k (p_k − 1{y = k})² (two classes: half)     squared (ŷ − y)²     absolute |ŷ − y|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from assay.engines import MaskedRows, Rows, engine_for, pick_rows, some_rows, targets_of
from assay.engines.derived import held_out_mask
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.selection.calibration import MOST_ROWS, CalibratedModel, agreed
from assay.tables.encoding import Encoding, EncodingSpec
from assay.tables.encoding.columns import (
    ColumnGroups,
    EncodingStatistics,
    StringValues,
    TextComponents,
    statistics_of,
)
from assay.tables.encoding.components import components_of
from assay.tables.encoding.strings import Target, strings_of
from assay.tables.schema.schema import Schema
from assay.tables.sources.source import Source
from assay.tables.table_rows import encode, encode_some

FEW_SCORED = 100
SCORED = 0x5C02ED  # a seed of its own: rows that are scored have nothing to do with those that a split holds out
Found = TypeVar("Found")

LEAST = float(np.finfo(np.float64).eps)  # the least probability that the log loss takes, as in assess.scores


@dataclass(frozen=True)
class TableData:
    """`rows` hold numbers as the schema describes them, not yet encoded; `y` the targets of all rows, `w` their weights."""

    schema: Schema
    rows: Rows
    y: Array
    w: Array | None = None
    labels: Labels | None = None  # None: the target is a number
    groups: Array | None = None  # (n,): the group of each row; rows of one group stay on one side of every split
    times: Array | None = None  # (n,): when each row was; tests are later than what is learnt from
    parts: Array | None = None  # (n,): rows of one part share a search (splits.py); None: each side has its own
    pairs: bool = True  # whether the search on all rows asks the fits of those searches, and has none of its own
    taken: Array | None = (
        None  # (n,): the numbers of the rows in the table that they were taken from, `whole` rows long
    )
    whole: int | None = None
    source: Source | None = field(default=None, repr=False, compare=False)  # where texts can be read again, to be shown
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # what several models need alike

    @classmethod
    def of(cls, schema: Schema, rows: Rows, classes: bool, known: Array | None = None) -> TableData:
        """Read the targets; `classes`: they are labels, and `known` ones count among them whether they occur or not."""
        y, w = targets_of(rows)
        found = np.unique(y) if known is None else np.union1d(known, y)
        return cls(schema, rows, y, w, Labels.of(found) if classes else None)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def in_memory(self) -> bool:
        return self.rows.resident

    @cached_property
    def classes(self) -> Array | None:
        return None if self.labels is None else self.labels.classes

    @cached_property
    def scored(self) -> Array:
        """(n,): the rows of which scores are kept to calibrate by; of many rows some, by a hash of their number."""
        n = self.whole or len(self)
        marks = held_out_mask(0, n, MOST_ROWS / n, SCORED) if n > MOST_ROWS else np.ones(n, dtype=bool)
        return marks if self.taken is None else marks[self.taken]

    def to_score(self, rows: Array) -> Array:
        """(m,): which of some rows are scored; of few rows of a long table all."""
        marks: Array = self.scored[rows]
        return marks if marks.sum() >= min(len(rows), FEW_SCORED) else np.arange(len(rows)) < FEW_SCORED

    @cached_property
    def codes(self) -> Array:
        """The targets as numbers: codes of the classes, or the numbers themselves."""
        if self.classes is None:
            return self.y.astype(np.float64)
        return np.searchsorted(self.classes, self.y)

    @property
    def task(self) -> str:
        return "regression" if self.labels is None else "classification"

    @cached_property
    def spread(self) -> float:
        """The deviation of a target as a power of ten (1 for classes): enough to choose units by, and too rough to say anything of single rows."""
        deviation = 1.0 if self.labels is not None else float(self.codes[self.everything].std())
        return 10.0 ** round(float(np.log10(deviation))) if 0 < deviation < np.inf else 1.0

    def strata(self, folds: int) -> Array | None:
        """Class codes of the rows that count, to stratify by; None for numbers, and where a class is too rare to be in every fold."""
        if self.classes is None:
            return None
        codes: Array = self.codes[self.everything]
        return None if np.unique(codes, return_counts=True)[1].min(initial=len(codes)) < folds else codes

    def learnable(self, train: Array) -> bool:
        """Whether some rows can teach anything: of one class alone nothing can be learnt."""
        return self.classes is None or bool((self.codes[train[1:]] != self.codes[train[:1]]).any())

    def marks_of(self, which: Array) -> tuple[Array | None, Array | None]:
        """Groups and times of some rows, as splits heed them."""
        groups, times = (None if each is None else each[which] for each in (self.groups, self.times))
        return groups, times

    @cached_property
    def everything(self) -> Array:
        """The numbers of all rows that count: a row of weight 0 is as good as absent."""
        return np.arange(len(self)) if self.w is None else np.flatnonzero(self.w > 0)

    def statistics(self, which: Array) -> EncodingStatistics:
        """What any encoding has to know of some rows; found once for all models."""
        return self.once(which, "statistics", self._statistics)

    def encoding(self, which: Array, encoding_spec: EncodingSpec) -> Encoding:
        """The encoding learnt from some rows; each of its parts is found once for all models that need it."""
        found = self.statistics(which)
        if encoding_spec.components:
            found = found._replace(texts=self.once(which, "components", self._components))
        strings = self.once(which, ("strings", encoding_spec.target), partial(self._strings, encoding_spec.target))
        return Encoding(self.schema, encoding_spec, found._replace(strings=strings))

    def _strings(self, target: Target, which: Array) -> tuple[StringValues, ...]:
        groups = ColumnGroups.of(self.schema)
        if not groups.strings:
            return ()
        raw = self.pick(which)
        return strings_of(engine_for(raw), groups, target, raw)

    def _statistics(self, which: Array) -> EncodingStatistics:
        raw = self.pick(which)
        return statistics_of(engine_for(raw), ColumnGroups.of(self.schema), raw)

    def _components(self, which: Array) -> tuple[TextComponents, ...]:
        groups = ColumnGroups.of(self.schema)
        if not groups.texts:
            return ()
        raw = self.pick(which)
        return components_of(engine_for(raw), groups, self.statistics(which), raw)

    def once(self, which: Array, what: Any, find: Callable[[Array], Found]) -> Found:
        """find(which), remembered under the rows and the name `what`."""
        key = (what, len(which), hash(which.tobytes()))
        if key not in self.memory:
            self.memory[key] = find(which)
        found: Found = self.memory[key]
        return found

    def forget(self, what: Any) -> None:
        """Let go of what was remembered under a name, of all rows."""
        for key in [key for key in self.memory if key[0] == what]:
            del self.memory[key]

    def pick(self, which: Array) -> Rows:
        """Some rows by their numbers, not encoded; repeated numbers (of a bootstrap) need a table in memory."""
        if self._all(which):
            return self.rows
        if self.rows.resident:
            return pick_rows(self.rows, which)
        return some_rows(self.rows, MaskedRows(self._mask(which)))

    def part(self, which: Array) -> TableData:
        """Some rows as a table of their own in memory, read once; what is decided by the numbers of rows goes by those that they have here."""
        groups, times = self.marks_of(which)
        return replace(
            self,
            rows=self.pick(which).in_memory(),
            y=self.y[which],
            w=None if self.w is None else self.w[which],
            groups=groups,
            times=times,
            parts=None,
            taken=which,
            whole=len(self),
            memory={},
        )

    def encoded(self, encoding: Encoding, which: Array, of_fit: bool = False) -> Rows:
        """Some rows by their numbers, encoded; `of_fit`: they are those that the encoding was learnt from."""
        if not self.rows.resident and not self._all(which):
            return encode_some(self.rows, encoding, self._mask(which), of_fit)
        picked: Rows = encode(self.pick(which), encoding, of_fit)
        return picked

    def _all(self, which: Array) -> bool:
        """Whether these are all rows, of which nothing need be picked or copied."""
        return which is self.everything and len(which) == len(self)

    def _mask(self, which: Array) -> Array:
        mask = np.zeros(len(self), dtype=bool)
        mask[which] = True
        return mask


@dataclass
class Answers:
    """Answers for m rows: codes of the classes or numbers, and, where the model has them, probabilities and scores."""

    values: Array  # (m,)
    P: Floats | None = None  # (m, K)
    scores: Floats | None = None  # (m,) or (m, K): of models without probabilities

    @classmethod
    def of(cls, model: Any, rows: Rows, classes: Array | None) -> Answers:
        """Ask a fitted model everything. Labels that it gives are among the `classes`, though it may know fewer of them."""
        if classes is None:
            return cls(np.asarray(model.predict(rows), dtype=np.float64))
        if isinstance(model, CalibratedModel):
            labels, P = model.predict_both(rows)
            values = np.searchsorted(classes, labels)
            wide = _widened(P, model.classes_, classes, model.calibration.unseen)
            return cls(values, agreed(wide, values))  # single precision may make equals of unequal ones
        values = np.searchsorted(classes, model.predict(rows))
        if hasattr(model, "predict_proba"):
            return cls(values, _widened(model.predict_proba(rows), model.classes_, classes, 0.0))
        if not hasattr(model, "decision_function") or len(model.classes_) < len(classes):  # no score for a class unseen
            return cls(values)
        return cls(values, None, model.decision_function(rows))

    @classmethod
    def for_loss(cls, model: Any, rows: Rows, classes: Array | None, loss: str) -> Answers:
        """Ask a fitted model no more than the loss looks at."""
        if classes is not None and loss == "zero-one":
            return cls(np.searchsorted(classes, model.predict(rows)))
        return cls.of(model, rows, classes)

    def joined(self, other: Answers) -> Answers:
        """These rows and those of another split."""
        both = (self.P, other.P), (self.scores, other.scores)
        P, scores = (None if a is None or b is None else np.concatenate([a, b]) for a, b in both)
        return Answers(np.concatenate([self.values, other.values]), P, scores)


def _widened(P: Floats, known: Array, classes: Array, unseen: float) -> Floats:
    """Probabilities of the `known` classes as those of all `classes`, in single precision; each one that the model never saw gets `unseen`."""
    if len(known) == len(classes):
        return P.astype(np.float32)
    wide = np.full((len(P), len(classes)), unseen, dtype=np.float32)
    wide[:, np.searchsorted(classes, known)] = P * (1.0 - unseen * (len(classes) - len(known)))
    return wide


def row_losses(loss: str, data: TableData, which: Array, answers: Answers) -> Floats:
    """(m,): what the answer for each of these rows costs; NaN where the loss needs probabilities and the model has none."""
    y = data.codes[which]
    if loss == "zero-one":
        return np.asarray(answers.values != y, dtype=np.float64)
    if loss == "squared":
        return np.asarray((answers.values - y) ** 2, dtype=np.float64)
    if loss == "absolute":
        return np.asarray(np.abs(answers.values - y), dtype=np.float64)
    if answers.P is None:
        return np.full(len(y), np.nan)
    return probability_losses(loss, answers.P.astype(np.float64), y)


def probability_losses(loss: str, P: Floats, y: Array) -> Floats:
    """(m,): the log or Brier loss of each row of P (m, K), which is used up; y are the codes of the true classes."""
    if loss == "log":
        return -np.log(np.maximum(P[np.arange(len(y)), y], LEAST))
    P[np.arange(len(y)), y] -= 1.0
    half = 0.5 if P.shape[1] == 2 else 1.0  # as in assess.scores
    return np.asarray(half * (P**2).sum(axis=1))
