"""Models whose fit is one fold of sufficient statistics. Shape: one fold.

The state is the statistics and nothing else; smoothing, regularisation and normalisation live in `_finish`. So more rows
can be absorbed later (`partial_fit`) as if they had been there from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows, engine_for, fold
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import DataError
from assay.estimator.estimator import Estimator, fresh_and_rows
from assay.estimator.params import check_params
from assay.estimator.steps import Measure, Step, answering, checked, nothing_yet
from assay.inputs import as_rows
from assay.inputs.refusals import refuse_absent, refuse_unlisted
from assay.store import Record


class SufficientStatistics(Protocol):
    """A NamedTuple of arrays, with the fingerprint of the rows they came from."""

    mark: bytes

    def _asdict(self) -> dict[str, Any]: ...


class OneFold(Estimator):
    """Learn by one fold. Subclasses give `_absorber`, `_merge`, `_finish` and `_make_claims`."""

    statistics: ClassVar[type]
    step_word = "block"

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        """A picklable function from a block to its statistics."""
        raise NotImplementedError

    @staticmethod
    def _merge(a: Any, b: Any) -> Any:
        raise NotImplementedError

    def _finish(self, state: Any) -> None:
        """Set the learnt attributes from the statistics."""
        raise NotImplementedError

    def _finish_on(self, state: Any, engine: Engine, rows: Rows | None) -> None:
        """As `_finish`, where the rows behind the statistics can still be read (None: only some of them)."""
        self._finish(state)

    def _make_claims(self) -> tuple[Claim, ...]:
        return ()

    def _check_statistics(self, state: Any, whole: bool) -> None:
        """Raise where no model can come of the statistics; `whole`: no more rows are expected.

        The statistics of a classifier hold `class_count` (K,), the weight of the rows of each class.
        """
        if self._kind == "classifier":
            refuse_absent(self.classes_, state.class_count, whole, self.least_classes)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Absorb more rows, as if they had been there from the start.

        `classes` lists every class that can ever occur; the first call needs it, later calls may repeat it.
        """
        refuse_unlisted(self, classes)
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        absorb = self._absorber(engine, rows, afresh, classes)
        state = fold(engine, rows.blocks(), absorb, self._merge)
        if state is None:
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        alone = afresh or self._state is None
        if not alone:
            state = self._merge(self._state, state)
        self._check_statistics(state, whole=afresh and classes is None)
        self._finish_and_claim(state, engine, rows if alone else None)

    def _finish_and_claim(self, state: Any, engine: Engine, rows: Rows | None) -> None:
        self._finish_on(state, engine, rows)
        self._state = state
        self._provenance = {"fingerprint": state.mark.hex()}
        self._state_claims()

    # --- many settings of one fold --------------------------------------------------------------------------------------

    def _folded_by(self) -> Any:
        """What of the hyper-parameters the statistics depend on, for `==`; all others are read by `_finish` alone."""
        raise NotImplementedError

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that agree on the statistics share one fold."""
        folded: Self | None = None
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            if folded is None or folded._folded_by() != model._folded_by():
                model._fit(X, None, None)
                folded = copy(model)  # whoever gets the model may change it
            else:
                model = folded._finished_with(model, X)
            yield model

    def _finished_with(self, settings: Estimator, X: Any) -> Self:
        """A model of this one's statistics with other hyper-parameters."""
        check_params(settings)
        model = copy(self)
        model.set_params(**settings.get_params())
        rows = as_rows(X, categories=self.takes_categories, sparse=self.takes_sparse)
        engine = engine_for(rows, model.n_jobs)
        with one_thread_blas():
            model._finish_and_claim(self._state, engine, engine.open(rows))
        model._fitted_with = model.get_params()
        return model

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        parts = {name[6:]: a for name, a in record.arrays.items() if name.startswith("state.")}
        try:
            mark = bytes.fromhex(str(record.provenance.get("fingerprint", "")))
        except ValueError:
            mark = b""
        self._state = self.statistics(**parts, mark=mark)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The estimates after the first `every`, 2·`every`, … rows (by default in about fifty steps)."""
        return steps_of(self, X, y, sample_weight, every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """One a block of rows."""
        return -(-rows // rows_a_step(rows, every))


# --- a fold in the making: the estimates after ever more rows, and how they answered rows before these were learnt from ---

STEPS = 50  # about so many unless asked otherwise


def rows_a_step(n: int, every: int | None) -> int:
    """How many rows are absorbed from one step to the next."""
    return checked(every) or max(1, -(-n // STEPS))


def steps_of(model: OneFold, X: Any, y: Any, sample_weight: Any, every: int | None) -> Iterator[Step]:
    """The estimates after each block of rows."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine, n, state, ready, ahead = Threads(1), len(rows.X), None, False, ProgressiveLoss(fresh)
    with one_thread_blas():
        absorb = fresh._absorber(engine, rows, True, None)
        size = rows_a_step(n, every)
        for number, a in enumerate(range(0, n, size), 1):
            piece, seen = _piece(rows, a, size), min(n, a + size)
            if ready:
                ahead.see(piece)
            if seen < n:
                new = absorb(piece)
                state = new if state is None else fresh._merge(state, new)
                ready = _finished(fresh, state)
            else:  # as a fit makes them: of the same blocks, with the rows at hand
                state = fold(engine, rows.blocks(), absorb, fresh._merge)
                fresh._check_statistics(state, whole=True)
                fresh._finish_on(state, engine, rows)
                ready = True
            told = (Measure("rows", float(seen), float(n), f"{seen} of {n} rows", better="up"), *ahead.measures())
            learnt = _learnt(fresh) if ready else {}
            yield Step(
                number, seen, learnt, told, answering(fresh, {**learnt, "_state": state}) if ready else nothing_yet
            )


def _finished(model: OneFold, state: Any) -> bool:
    """Finish the estimates; False where the rows so far cannot make any, as where none has any weight."""
    try:
        model._check_statistics(state, whole=False)
        model._finish(state)
    except DataError:
        return False
    return True


def _learnt(model: OneFold) -> dict[str, Any]:
    return {k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in vars(model).items() if k.endswith("_")}


def _piece(rows: Any, a: int, size: int) -> Block:
    some = rows.X[a : a + size]
    return Block(
        some if rows.sparse else np.ascontiguousarray(some, dtype=np.float64),
        None if rows.y is None else rows.y[a : a + size],
        None if rows.w is None else rows.w[a : a + size],
        a,
    )


class ProgressiveLoss:
    """The loss on rows that were answered before they were learnt from (progressive validation; Blum, Kalai and Langford 1999)."""

    def __init__(self, model: OneFold) -> None:
        self.model, self.loss, self.weight = model, 0.0, 0.0
        self.classes = model.kind_of(model.get_params()) == "classifier"

    def see(self, piece: Block) -> None:
        """Answer rows, as far as the estimates so far can."""
        assert piece.y is not None
        try:
            answer = self.model._predict_block(piece)
        except DataError:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            losses = answer != piece.y if self.classes else (answer - piece.y.astype(np.float64)) ** 2
            weights = np.ones(len(losses)) if piece.w is None else piece.w
            self.loss += float(np.sum(losses * weights))
            self.weight += float(np.sum(weights))

    def measures(self) -> tuple[Measure, ...]:
        """The mean so far."""
        mean = self.loss / self.weight if self.weight > 0 else np.inf
        if not np.isfinite(mean):
            return ()
        name = "error on the next rows" if self.classes else "squared error on the next rows"
        said = f"{mean:.1%} wrong" if self.classes else f"{mean:.4g}"
        return (Measure(name, mean, None, f"{said} on rows answered before they were learnt from"),)
