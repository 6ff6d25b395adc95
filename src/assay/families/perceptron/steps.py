"""The perceptron visit by visit, for teaching: the passes of a fit, opened up.

The mistakes are counted as they are made, beside the bound that they never pass where the rows can be separated.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Engine, Rows
from assay.engines.engine import Threads, one_thread_blas
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering_like
from assay.families.perceptron.claims import most_mistakes
from assay.families.perceptron.fit import PerceptronRun, VisitBlock, VisitBlocks, begin, rule_of, visits
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.perceptron.estimators import Perceptron


CHEAP = 20_000  # numbers in a table of which the greatest margin is found before anybody waits for it
Learnt = dict[str, Any]  # the parts of the model at a step


def steps_of(model: Perceptron, X: Any, y: Any, sample_weight: Any, every: int) -> Iterator[Step]:
    """Every `every`-th step of a fit at least, and the last; visits between them are made at the speed of a fit."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(1)
    with one_thread_blas():
        rule, labels = rule_of(fresh), fresh._classes_of(engine, rows, True, None)
        factor = fresh._factors(engine, rows, labels, True)
        run = PerceptronRun(rule, begin(fresh, rows.n_columns, True), rows.names, int(fresh.max_voters))
        bound = mistake_bound(fresh, engine, rows, labels, factor is None)
        if rule.order == "batch":
            states = _batch(fresh, run, lambda: run.batch_step(engine, rows, labels, factor))
        else:
            states = _online(fresh, run, VisitBlocks(engine, rows, labels, factor, rule.eta), every)
        n, zero, base = rows.n_rows or 0, not fresh.start_.any(), copy(fresh)
        always = {"class_factor_": fresh.class_factor_, "start_": fresh.start_}
        for passes, values in enumerate(states, 1):
            learnt = {name: values[name] for name in _ANSWERING if name in values}
            number, visited, told = passes, n, [mistakes_so_far(run.mistakes, bound, zero)]
            if rule.order == "batch":
                told = [mistakes_of_pass(values["mistakes"]), *told]
            else:
                number = int(run.S.counts[0])
                visited = min(n, number)
            yield Step(number, visited, {**values, **always}, tuple(told), answering_like(base, learnt))


def _weights(run: PerceptronRun) -> Floats:
    return np.column_stack([run.S.b, run.S.w])


def _learnt(model: Perceptron, run: PerceptronRun, before: Floats) -> Learnt:
    """The weights after a step, under the names of a fitted model too."""
    after = _weights(run)
    flat = slice(None) if len(after) > 1 else 0
    model._keep_weights(run)
    learnt = {name: value.copy() for name in _LEARNT if (value := vars(model).get(name)) is not None}
    if model.variant == "voted":
        count = int(run.S.counts[2])
        learnt |= {"voters_": run.S.voters[:count], "votes_": run.S.votes[:count].copy()}  # no voter changes once there
    return {"w": after[flat], "update": (after - before)[flat], **learnt}


_LEARNT = ("coef_", "intercept_", "last_", "drift_")
_ANSWERING = (*_LEARNT, "voters_", "votes_")


def _batch(model: Perceptron, run: PerceptronRun, step: Any) -> Iterator[Learnt]:
    for _ in range(int(model.max_iter)):
        before, visited = _weights(run), int(run.S.counts[0])
        wrong = step()
        yield {**_learnt(model, run, before), "mistakes": wrong}
        if wrong <= (model.tol or 0.0) * (int(run.S.counts[0]) - visited):
            return


def _online(model: Perceptron, run: PerceptronRun, pieces: VisitBlocks, every: int) -> Iterator[Learnt]:
    if run.rule.order == "first-mistake":
        yield from _searches(model, run, pieces, every)
        return
    share = model.tol or 0.0
    for epoch in range(1, int(model.max_iter) + 1):
        before, count = run.mistakes, 0
        for number, piece in enumerate(pieces):
            n, at = len(piece.codes), 0
            draws = visits(run.rule, epoch, number, n)
            order = draws if len(draws) else np.arange(n)
            while at < n:
                shown = at + _skipped(run, every, n - at)
                if shown > at:
                    run._visit(piece, order[at:shown], run.on)
                yield from _visit(model, run, piece, int(order[shown]))
                at = shown + 1
            count += n
        wrong = run.mistakes - before
        if run.rule.order == "random":
            wrong = run.count_wrong(pieces, int(share * count) + 1)
        if wrong <= share * count:
            return


def _skipped(run: PerceptronRun, every: int, left: int) -> int:
    """How many visits come before the next that is shown: an `every`-th, or the last of those `left`, which may be the last of all."""
    return min(left - 1, (-1 - int(run.S.counts[0])) % every)


def _searches(model: Perceptron, run: PerceptronRun, pieces: VisitBlocks, every: int) -> Iterator[Learnt]:
    most = int(model.max_iter)
    again = True
    while again:
        again = False
        if run.mistakes >= most:
            every = 1  # the last search ends at any row that is wrong
        for piece in pieces:
            n, at = len(piece.codes), 0
            while at < n and not again:
                before, shown = run.mistakes, at + _skipped(run, every, n - at)
                if shown > at:
                    run._visit(piece, np.arange(at, shown), run.leave, most)
                if run.mistakes == before:
                    states = list(_visit(model, run, piece, shown, most))
                    if not states:
                        return  # a mistake is left, but no correction
                    yield from states
                again, at = run.mistakes > before, shown + 1
            if again:
                break


def _visit(model: Perceptron, run: PerceptronRun, piece: VisitBlock, i: int, most: int = 1 << 62) -> Iterator[Learnt]:
    from assay.compiled.simd.rows import plain_score

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


def mistake_bound(model: Perceptron, engine: Engine, rows: Rows, labels: Labels, equal: bool) -> float | None:
    """R²/γ² with the greatest margin γ, found once; None where nothing separates the rows, or the bound is for other steps.

    `equal`: all rows are corrected by the same step.
    """
    numbers = rows.n_columns * (rows.n_rows or 0)
    if len(labels.classes) > 2 or model.order == "batch" or not equal or rows.has_weight or numbers > CHEAP:
        return None
    from assay.solvers.separation.separation import separate

    found = separate(engine, rows, labels, space=model._space())
    if not found.separable:
        return None
    u = np.append(found.intercept, found.coef)
    return most_mistakes(found.radius**2, found.margin, float(model.eta0), model.start_[0], u / np.linalg.norm(u))


def mistakes_so_far(count: int, bound: float | None, starts_at_zero: bool) -> Measure:
    """All mistakes up to here."""
    formula = "R²/γ² of the greatest margin" if starts_at_zero else "the bound from these first weights"
    text = f"{count} mistakes" if bound is None else f"{count} ≤ {formula} = {bound:.6g}"
    return Measure("mistakes", float(count), bound, text, better=None)


def mistakes_of_pass(wrong: int) -> Measure:
    """Those of one pass over all rows: none ends the fit."""
    return Measure("mistakes in the pass", float(wrong), 0.0, f"{wrong} mistakes in this pass")
