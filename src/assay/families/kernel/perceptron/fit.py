"""The kernel perceptron's visits: which rows err in which order, and the coefficients that their mistakes make.

Rows come in chunks. The scores of a chunk are brought up to date by the coefficients that changed since its last visit, a product of
matrices; within it the kernel's values among its own rows decide the visits one after another. So each visit sees exactly the coefficients of
all mistakes before it, and nearly all work is done many rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.engines import Rows, block_rows
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError
from assay.families.kernel.functions import Kernel, check_own_kernel, check_precomputed, needs_differences, resolve
from assay.families.kernel.perceptron.values import KernelValues
from assay.families.perceptron.fit import PerceptronRule, visits
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.kernel.perceptron.estimators import KernelPerceptron

CHUNK = 256  # rows visited with one block of kernel values
MOST_KEPT = 32  # blocks of chunks that come again in every pass: 16 MB


class StartedRun(NamedTuple):
    """A run on rows X, of which the first `old` are those kept so far; their numbers among all rows ever seen, and how many these are."""

    run: KernelPerceptronRun
    X: Floats
    numbers: Array
    old: int
    seen: int


def rule_of(model: KernelPerceptron) -> PerceptronRule:
    """What a visit does; hyper-parameters that contradict each other are refused."""
    if model.shuffle and model.order != "cyclic":
        raise ParameterError(f"shuffle=True belongs to order='cyclic', and order={model.order!r}.")
    if model.budget is not None and model.variant == "averaged":
        raise ParameterError(
            f"variant='averaged' averages the coefficients of all rows that ever erred, and budget={model.budget} keeps some of them: use "
            "variant='last', or budget=None."
        )
    return PerceptronRule(model.order, 1.0, bool(model.shuffle), int(model.random_state or 0))


def start_run(model: KernelPerceptron, rule: PerceptronRule, labels: Labels, rows: Rows, afresh: bool) -> StartedRun:
    """The new rows in float64 after those kept so far, whose coefficients they begin with; a fresh fit chooses the kernel."""
    if rows.y is None or not len(rows.X):
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    refuse_non_finite(rows.X, 0, model._column_names())
    X, n, K = np.array(rows.X, dtype=np.float64, order="C"), len(rows.X), len(labels.classes)
    codes = np.ascontiguousarray(labels.encode(rows.y), dtype=np.int64)
    steps = (np.ones(n) if rows.w is None else np.asarray(rows.w, dtype=np.float64)) * model.class_factor_[codes]
    if afresh:
        kernel = _kernel_for(model, X, rows.w)
        model.gamma_ = float(kernel.gamma)
        if kernel.centre is not None:
            model.centre_ = kernel.centre
        old, seen, numbers = 0, 0, np.arange(n)
    else:
        _check_going_on(model)
        kernel, old, seen = model._kernel(), len(model.support_), model.seen_
        X = np.concatenate([model.support_vectors_, X])
        numbers = np.concatenate([model.support_, seen + np.arange(n)])
        codes = np.concatenate([np.zeros(old, dtype=np.int64), codes])
        steps = np.concatenate([np.zeros(old), steps])
    beta, drift = np.zeros((1 if K == 2 else K, old + n)), None
    if model.variant == "averaged":
        drift = np.zeros_like(beta)
    if old:
        beta[:, :old] = model.dual_coef_ if drift is None else model.last_coef_
        if drift is not None:
            drift[:, :old] = model.drift_
    run = KernelPerceptronRun(
        rule, KernelValues(kernel, X, Threads(model.n_jobs)), VisitTargets(codes, steps, K), beta, drift, model.budget
    )
    if not afresh:
        run.visited, run.mistakes, run.dropped = model.t_, model.mistakes_, model.dropped_
        run.step_sum, run.step_squares = model.step_sum_, model.step_squares_
    return StartedRun(run, X, numbers, old, seen + n)


def _kernel_for(model: KernelPerceptron, X: Floats, w: Floats | None) -> Kernel:
    if model.kernel == "precomputed":
        check_precomputed(X)
    kernel = resolve(model.kernel, model.gamma, model.degree, model.coef0, X, w)
    if kernel.own is not None:
        check_own_kernel(kernel, X)
    return replace(kernel, by_differences=needs_differences(kernel, X))


def _check_going_on(model: KernelPerceptron) -> None:
    before = model._fitted_with
    for name in ("kernel", "degree", "coef0", "variant"):
        now = getattr(model, name)
        if before[name] != now:
            raise ParameterError(
                f"The model was fitted with {name}={before[name]!r}: partial_fit cannot go on with {name}={now!r}. Fit again."
            )
    if model.budget is not None and len(model.support_) > model.budget:
        raise ParameterError(
            f"{len(model.support_)} rows are kept, and budget={model.budget}: fit again, or give a budget of that size."
        )


class KernelPerceptronRun:
    """Coefficients beta (m, n) under way. `drift` (m, n) for the average: Σ (visits before)·(change), since Σ_t β_t = T·β_T − drift.

    `kept` (≤ budget,): with a budget the rows that have a coefficient, in the order of their places.
    """

    def __init__(
        self,
        rule: PerceptronRule,
        values: KernelValues,
        targets: VisitTargets,
        beta: Floats,
        drift: Floats | None,
        budget: int | None,
    ) -> None:
        self.rule, self.values, self.targets = rule, values, targets
        self.beta, self.drift = beta, drift
        self.budget = budget
        self.kept = np.flatnonzero(beta.any(axis=0))
        self.visited = self.mistakes = self.dropped = self.passes = 0
        self.step_sum = self.step_squares = 0.0
        self.converged, self.closest = False, np.inf
        self.scores = np.zeros_like(beta)
        self._log: list[tuple[Array, Floats]] = [(self.kept, beta[:, self.kept])] if len(self.kept) else []
        self._blocks: dict[int, Floats] = {}  # by the chunk's first place in a pass

    # --- what a pass is ---------------------------------------------------------------------------------------------

    def order_of(self, epoch: int, first: int = 0, *, in_order: bool = False) -> Array:
        """The rows of pass `epoch` from number `first` on; a shuffle stays within the blocks in which rows are read everywhere."""
        n, step = len(self.targets.steps), block_rows(self.values.X.shape[1])
        found = []
        for number, a in enumerate(range(first, n, step)):
            there = a + np.flatnonzero(self.targets.steps[a : a + step] > 0)
            draws = visits(self.rule, epoch, number, len(there), in_order=in_order)
            found.append(there[draws] if len(draws) else there)
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def passes_of(self, most: int) -> Iterator[Visits]:
        """Pass after pass until one makes no mistake, `most` of them at most."""
        if self.rule.order == "first-mistake":
            yield from self._searches(most)
            return
        since: dict[int, int] = {}  # of each chunk: how much of the log its scores hold
        order = self.order_of(1)
        for self.passes in range(1, most + 1):
            if self.rule.shuffle:
                order = self.order_of(self.passes)
            before, start = self.mistakes, len(self._log)
            for a in range(0, len(order), CHUNK):
                rows = order[a : a + CHUNK]
                if self.budget is not None:
                    yield self._chunk_within(rows)
                    continue
                yield self._chunk(rows, start if self.rule.shuffle else since.get(a, 0), a)
                since[a] = len(self._log)
            if self.rule.shuffle and self.budget is None:
                self._settle(order, start)
            if self.mistakes == before:
                self.converged = True
                break
        if not self.rule.shuffle and self.budget is None:
            for a in range(0, len(order), CHUNK):
                self._catch_up(order[a : a + CHUNK], since[a])

    def one_pass(self, first: int) -> Iterator[Visits]:
        """The rows from number `first` on once, in order."""
        order, before = self.order_of(1, first, in_order=True), self.mistakes
        for a in range(0, len(order), CHUNK):
            rows = order[a : a + CHUNK]
            yield self._chunk(rows, 0) if self.budget is None else self._chunk_within(rows)
        self.passes, self.converged = 1, self.mistakes == before

    # --- chunks -----------------------------------------------------------------------------------------------------

    def _since(self, start: int) -> tuple[Array, Floats]:
        """The rows whose coefficients changed since a place in the log, and by how much."""
        if start == len(self._log):
            return np.empty(0, dtype=np.int64), np.empty((len(self.beta), 0))
        rows = np.concatenate([r for r, _ in self._log[start:]])
        change = np.concatenate([c for _, c in self._log[start:]], axis=1)
        there, place = np.unique(rows, return_inverse=True)
        total = np.stack([np.bincount(place, weights=c, minlength=len(there)) for c in change])
        some = total.any(axis=0)
        return there[some], total[:, some]

    def _catch_up(self, rows: Array, start: int) -> Floats:
        S: Floats = np.ascontiguousarray(self.scores[:, rows])
        self.values.add(S, rows, *self._since(start))
        self.scores[:, rows] = S
        return S

    def _settle(self, order: Array, start: int) -> None:
        """Bring all scores up to date with a pass."""
        self._catch_up(np.sort(order), start)

    def _among(self, rows: Array, first: int | None) -> Floats:
        """The kernel's values among the rows of a chunk. Where the same chunks come in every pass (`first`: its place), they are kept."""
        if first is None or self.rule.shuffle:
            return self.values.block(rows, rows)
        found = self._blocks.get(first)
        if found is None:
            found = self.values.block(rows, rows)
            if len(self._blocks) < MOST_KEPT:
                self._blocks[first] = found
        return found

    def _chunk(self, rows: Array, start: int, first: int | None = None) -> Visits:
        from assay.families.kernel.perceptron import loops

        held = self.scores[:, rows]  # a shuffled pass starts from the scores of the pass before
        S = self._catch_up(rows, start)
        codes, steps, B = self.targets.codes[rows], self.targets.steps[rows], len(rows)
        done = Visits(rows, S, np.full(B, -1), np.full(B, -1))
        if loops.first_mistake(S, codes, self.rule.zero, 0, B)[0] < B:
            done = done._replace(scores=np.empty_like(S))
            G = self._among(rows, first)
            loops.visit(S, G, codes, steps, self.rule.zero, done.scores, done.rivals)
        self._count(done)
        self.scores[:, rows] = held if self.rule.shuffle else S
        return done

    def _chunk_within(self, rows: Array) -> Visits:
        """As `_chunk` where at most `budget` rows are kept; their values with the chunk are all taken anew."""
        from assay.families.kernel.perceptron import loops

        assert self.budget is not None
        m, B, size = len(self.beta), len(rows), len(self.kept)
        codes, steps = self.targets.codes[rows], self.targets.steps[rows]
        room = min(self.budget, size + B)
        kept, coef, K = np.full(room, -1), np.zeros((m, room)), np.zeros((room, B))
        kept[:size], coef[:, :size] = self.kept, self.beta[:, self.kept]
        for a in range(0, size, CHUNK):
            K[a : min(size, a + CHUNK)] = self.values.block(self.kept[a : a + CHUNK], rows)
        S: Floats = np.ascontiguousarray(coef @ K)
        done = Visits(rows, S, np.full(B, -1), np.full(B, -1))
        if loops.first_mistake(S, codes, self.rule.zero, 0, B)[0] < B:
            done = done._replace(scores=np.empty_like(S))
            here, G = self._places(rows), self.values.block(rows, rows)
            chunk, log = loops.ChunkRows(S, G, codes, steps, rows, here), loops.VisitLog(*done[1:])
            budget, rule = loops.KeptRows(kept, coef, K), self.rule
            _, size = loops.visit_within(chunk, budget, size, rule.zero, rule.seed, self.mistakes, log)
            self._count(done)
            self.beta[:, self.kept] = 0.0
            self.kept = kept[:size].copy()
            self.beta[:, self.kept] = coef[:, :size]
        else:
            self._count(done)
        return done

    def _places(self, rows: Array) -> Array:
        """Where among the kept rows each of these is, or −1."""
        if not len(self.kept):
            return np.full(len(rows), -1)
        order = np.argsort(self.kept)
        found = order[np.minimum(np.searchsorted(self.kept, rows, sorter=order), len(order) - 1)]
        return np.where(self.kept[found] == rows, found, -1)

    def _count(self, done: Visits) -> None:
        """Take the mistakes of visits into the coefficients (with a budget the loop did), the log and the counts."""
        wrong = np.flatnonzero(done.rivals >= 0)
        rows = done.rows[wrong]
        self._notice(done, wrong)
        if len(wrong):
            change = self.targets.changes(rows, done.rivals[wrong])
            if self.budget is None:
                self.beta[:, rows] += change
                self._log.append((rows, change))
            if self.drift is not None:
                self.drift[:, rows] += (self.visited + wrong).astype(np.float64) * change
            steps = self.targets.steps[rows]
            self.step_sum += float(steps.sum())
            self.step_squares += float((steps * steps).sum())
            self.mistakes += len(wrong)
            self.dropped += int((done.gone >= 0).sum())
        self.visited += len(done.rows)

    def _notice(self, done: Visits, wrong: Array) -> None:
        """Scores that are no numbers, and how near visits came to another outcome; before the first mistake all scores are 0, whoever adds them up."""
        from assay.families.kernel.perceptron.loops import closest

        if not np.isfinite(done.scores).all():
            raise DataError(
                "Scores overflow float64: the values of the kernel or the weights of the rows are too large. Divide the columns (or the "
                "weights) by a constant."
            )
        first = 0 if self.mistakes else int(wrong[0]) + 1 if len(wrong) else len(done.rows)
        codes = self.targets.codes[done.rows]
        self.closest = min(self.closest, float(closest(done.scores, codes, first, len(codes))))

    # --- from the first mistake on ----------------------------------------------------------------------------------

    def _searches(self, most: int) -> Iterator[Visits]:
        """Correct the first mistake and search again from the first row; scores are kept for the rows that a search ever reached."""
        from assay.families.kernel.perceptron.loops import first_mistake

        order = self.order_of(1, in_order=True)
        n, reached, at, laid = len(order), 0, 0, None
        codes, F = self.targets.codes[order], np.zeros((len(self.beta), len(order)))
        while True:
            r, rival = first_mistake(F, codes, self.rule.zero, at, reached)
            if r == reached < n:
                at, reached = reached, min(n, max(CHUNK, 2 * reached))
                self._reach(F, order, at, reached)
                laid = self.values.lay_out(order[:reached])
                continue
            if r == n or self.mistakes == most:
                self.converged, self.passes = r == n, self.mistakes + 1 if r == n else most
                self.scores[:, order[:reached]] = F[:, :reached]
                done = Visits(order[:r], F[:, :r], np.full(r, -1), np.full(r, -1))
                self._count(done)
                if r:
                    yield done
                if reached < n:
                    self._reach(F, order, reached, n)
                    self.scores[:, order] = F
                return
            rivals, gone = np.full(r + 1, -1), np.full(r + 1, -1)
            rivals[r], gone[r] = rival, self._make_room(int(order[r]))
            done = Visits(order[: r + 1], F[:, : r + 1], rivals, gone)
            dropped = self.beta[:, gone[r:]] if gone[r] >= 0 else None
            if dropped is not None:
                self.beta[:, gone[r]] = 0.0
            self._correct(done)
            yield done
            if dropped is not None:
                self.values.add(F[:, :reached], order[:reached], gone[r:], -dropped, laid)
            change = self.targets.changes(order[r : r + 1], np.array([rival]))
            self.values.add(F[:, :reached], order[:reached], order[r : r + 1], change, laid)
            at = 0

    def _reach(self, F: Floats, order: Array, a: int, b: int) -> None:
        there = np.flatnonzero(self.beta.any(axis=0))
        self.values.add(F[:, a:b], order[a:b], there, self.beta[:, there])

    def _make_room(self, row: int) -> int:
        """The kept row that has to go for this one, or −1."""
        if self.budget is None or row in self.kept:
            return -1
        if len(self.kept) < self.budget:
            self.kept = np.append(self.kept, row)
            return -1
        from assay.families.kernel.perceptron.loops import drawn

        place = int(drawn(self.rule.seed, self.mistakes, len(self.kept)))
        gone = int(self.kept[place])
        self.kept[place] = row
        return gone

    def _correct(self, done: Visits) -> None:
        if self.budget is not None:
            last = done.rows[-1:]
            self.beta[:, last] += self.targets.changes(last, done.rivals[-1:])
        self._count(done)


class Visits(NamedTuple):
    """Rows visited one after another: numbers (B,), scores (m, B) at the visit, the class that won wrongly or −1, the row that had to go or −1."""

    rows: Array
    scores: Floats
    rivals: Array
    gone: Array


class VisitTargets(NamedTuple):
    """Codes (n,) of the rows' classes, steps (n,): weight times factor of the class, and the number of classes."""

    codes: Array
    steps: Floats
    K: int

    def changes(self, rows: Array, rivals: Array) -> Floats:
        """What mistakes at these rows add to their coefficients: (m, B)."""
        c, at = self.steps[rows], np.arange(len(rows))
        if self.K == 2:
            return np.where(self.codes[rows] == 1, c, -c)[None]
        change = np.zeros((self.K, len(rows)))
        change[self.codes[rows], at] = c
        change[rivals, at] = -c
        return change
