"""A fold in the making: the estimates after ever more rows, and how they answered rows before these were learnt from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Block, fold
from assay.engines.blas import one_thread_blas
from assay.engines.threads import Threads
from assay.errors import DataError
from assay.learner import Measure, Step
from assay.learner.at_step import answering, nothing_yet
from assay.learner.beginning import fresh_and_rows
from assay.learner.step import checked

if TYPE_CHECKING:
    from assay.hypotheses.one_fold import OneFold

STEPS = 50  # about so many unless asked otherwise


def rows_a_step(n: int, every: int | None) -> int:
    """How many rows are absorbed from one step to the next."""
    return checked(every) or max(1, -(-n // STEPS))


def steps_of(model: OneFold, X: Any, y: Any, sample_weight: Any, every: int | None) -> Iterator[Step]:
    """The estimates after each block of rows."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine, n, state, ready, ahead = Threads(1), len(rows.X), None, False, Ahead(fresh)
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


class Ahead:
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
