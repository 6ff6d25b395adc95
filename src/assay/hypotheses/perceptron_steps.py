"""The perceptron visit by visit, for teaching: the passes of a fit, opened up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines.blas import one_thread_blas
from assay.engines.threads import Threads
from assay.hypotheses.perceptron_run import Piece, Pieces, Run, visits
from assay.hypotheses.perceptron_start import begin, rule_of
from assay.inputs import as_rows
from assay.learner import Step
from assay.numerics import Array, Floats
from assay.params import check_params

if TYPE_CHECKING:
    from assay.hypotheses.perceptron import Perceptron

Seen = dict[str, Any]


def steps_of(model: Perceptron, X: Any, y: Any, sample_weight: Any, every: int) -> Iterator[Step]:
    """Every `every`-th step of a fit, and the last."""
    fresh = type(model)(**model.get_params())
    check_params(fresh)
    rows, engine = as_rows(X, y, sample_weight, sparse=True).in_memory(), Threads(1)
    fresh._forget()
    fresh._remember_columns(rows)
    with one_thread_blas():
        rule, labels = rule_of(fresh), fresh._classes_of(engine, rows, True, None)
        factor = fresh._factors(engine, rows, labels, True)
        run = Run(rule, begin(fresh, rows.n_columns, True), rows.names, int(fresh.max_voters))
        if rule.order == "batch":
            seen = _batch(fresh, run, lambda: run.batch_step(engine, rows, labels, factor))
        else:
            seen = _online(fresh, run, Pieces(engine, rows, labels, factor, rule.eta))
        number, held = 0, None
        for number, values in enumerate(seen, 1):
            n = rows.n_rows or 0
            held = Step(number, n if rule.order == "batch" else min(n, number), values)
            if number % every == 0:
                yield held
                held = None
        if held is not None:
            yield held


def _weights(run: Run) -> Floats:
    return np.column_stack([run.S.b, run.S.w])


def _learnt(model: Perceptron, run: Run, before: Floats) -> Seen:
    """The weights after a step, under the names of a fitted model too."""
    after = _weights(run)
    flat = slice(None) if len(after) > 1 else 0
    model._keep_weights(run)
    learnt = {name: np.copy(getattr(model, name)) for name in model.layout if name in _LEARNT and hasattr(model, name)}
    if model.variant == "voted":
        learnt["voters_"] = run.S.voters[: run.S.counts[2]]  # no voter changes once it is there
    return {"w": after[flat], "update": (after - before)[flat], **learnt}


_LEARNT = ("coef_", "intercept_", "class_factor_", "start_", "last_", "drift_")


def _batch(model: Perceptron, run: Run, step: Any) -> Iterator[Seen]:
    for _ in range(int(model.max_iter)):
        before, seen = _weights(run), int(run.S.counts[0])
        wrong = step()
        yield {**_learnt(model, run, before), "mistakes": wrong}
        if wrong <= (model.tol or 0.0) * (int(run.S.counts[0]) - seen):
            return


def _online(model: Perceptron, run: Run, pieces: Pieces) -> Iterator[Seen]:
    if run.rule.order == "first-mistake":
        yield from _searches(model, run, pieces)
        return
    share = model.tol or 0.0
    for epoch in range(1, int(model.max_iter) + 1):
        before, count = run.mistakes, 0
        for number, piece in enumerate(pieces):
            n = len(piece.codes)
            draws = visits(run.rule, epoch, number, n)
            for i in draws if len(draws) else range(n):
                yield from _visit(model, run, piece, int(i))
            count += n
        wrong = run.mistakes - before
        if run.rule.order == "random":
            wrong = run.count_wrong(pieces, int(share * count) + 1)
        if wrong <= share * count:
            return


def _searches(model: Perceptron, run: Run, pieces: Pieces) -> Iterator[Seen]:
    again = True
    while again:
        again = False
        for piece, i in ((p, i) for p in pieces for i in range(len(p.codes))):
            before = run.mistakes
            seen = list(_visit(model, run, piece, i, most=int(model.max_iter)))
            if not seen:
                return  # a mistake is left, but no correction
            yield from seen
            if run.mistakes > before:
                again = True
                break


def _visit(model: Perceptron, run: Run, piece: Piece, i: int, most: int = 1 << 62) -> Iterator[Seen]:
    from assay.loops.linear_rows import plain_score

    before = _weights(run)
    w, b = before[:, 1:], before[:, 0]
    scores: Array = np.array([plain_score(piece.A, i, w, b, k) for k in range(len(b))])
    code = int(scores[0] >= 0) if len(b) == 1 else int(scores.argmax())
    if run._visit(piece, np.array([i]), run.on, most) == 0:
        return
    row = i if piece.numbers is None else int(piece.numbers[i])
    yield {
        **_learnt(model, run, before),
        "row": piece.block.start + row,
        "score": float(scores[0]) if len(b) == 1 else scores,
        "prediction": model.classes_[code],
    }
