"""Checks of duality gaps: objective and lower bound are summed again from the rows, by their definitions.

    P = Σ c ℓ(z) + Ω(w),   D = −Σ c ℓ*(u) − Ω*(−Σ c u x) ≤ min P      for any u in the domain of ℓ*

u is the slope of the loss at z (of the hinge: smoothed over `width`). Free intercepts are counted from the mean of the rows;
the slopes need not add up to zero exactly: no minimum has an intercept beyond a bound that follows from P.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CsrBlock, Floats, back, sizes, times
from assay.families.linear.check.terms import (
    STRAIGHT,
    RowMoments,
    Strengths,
    blocks,
    farthest_target,
    intercept_cost,
    least_margin,
    loss_terms,
    mean_score,
    numbered_blocks,
    shape_of,
    softmax_terms,
)

EPS = float(np.finfo(np.float64).eps)
LOOSEST = 1e-1
SAME = 1e-9  # what the objective may be off by, relatively
SAME_OF_COMPUTED = 1e-6  # and where columns were computed
NUMBERS = ("squared", "huber", "squared epsilon insensitive", *STRAIGHT)  # losses of errors
NEGLIGIBLE = 1e-10  # of the objective: twice as much that rounding hides is let pass
SEEN = 0.01  # and so is such a share of the tolerance
BENDS = {
    "log": 0.25,
    "softmax": 0.5,
    "squared": 1.0,
    "huber": 1.0,
    "squared hinge": 2.0,
    "squared epsilon insensitive": 2.0,
}  # the most that losses are curved
ADD_UP = 8.0  # times the root of the sum of their squares: so much roundings of many rows add up to at most
MET = 256  # roundings of a target, a term of its score, within which a row is met
SLACK = 1.001  # the bound is summed in another order than the solver's


class Case(NamedTuple):
    """One problem of a claim: its weights (…, d + 1), the class against the rest (None: softmax or regression), its width.

    Of a hinge, `rows` have the multipliers `values`; every other row has its whole weight or none, as it lies inside the
    margin or not. Without `rows`, multipliers are the slopes of a hinge smoothed over `width`.
    """

    w: Floats
    positive: int | None
    width: float
    rows: Array | None = None
    values: Array | None = None


def cases(claim: Claim, d: int) -> list[Case]:
    """The problems behind the coefficients."""
    w = claim.witness
    coef, b = np.asarray(w["coef"], dtype=np.float64), np.asarray(w["intercept"], dtype=np.float64)
    width = np.asarray(w.get("width", np.ones(len(b))), dtype=np.float64)
    K = 0 if w["classes"] is None else len(w["classes"])
    softmax = w["loss"] == "softmax"
    m = 1 if K in (0, 2) and not softmax else K
    if coef.shape != (m, d) or b.shape != (m,) or width.shape != (m,):
        raise ValueError(
            f"coefficients {coef.shape}, intercepts {b.shape} and widths {width.shape} do not fit the rows"
        )
    if not (np.isfinite(coef).all() and np.isfinite(b).all()) or (not w["fit_intercept"] and b.any()):
        raise ValueError("the coefficients are not possible")
    W = np.column_stack([coef, b])
    if softmax:
        return [Case(W, None, 1.0)]
    if K == 0:
        return [Case(W[0], None, float(w["delta"]), *_support(claim, 0))]
    return [Case(W[k], 1 if K == 2 else k, float(width[k]), *_support(claim, k)) for k in range(m)]


def _support(claim: Claim, k: int) -> tuple[Array | None, Array | None]:
    """The rows of problem k with a multiplier of their own."""
    w = claim.witness
    if "dual_rows" not in w or w["loss"] not in ("hinge", *STRAIGHT):
        return None, None
    mine = np.asarray(w["dual_problem"]) == k
    rows, values = np.asarray(w["dual_rows"])[mine], np.asarray(w["dual_values"], dtype=np.float64)[mine]
    if rows.dtype.kind != "i" or np.any(np.diff(rows) <= 0) or not np.isfinite(values).all():
        raise ValueError("the rows with multipliers are not possible")
    return rows, values


def strengths_of(claim: Claim, n: float) -> Strengths:
    """The penalty on the weights and the intercept, of rows that weigh n."""
    l1, l2, bias = (float(v) for v in np.asarray(claim.witness["strengths"], dtype=np.float64))
    if not min(l1, l2, bias) >= 0:
        raise ValueError("a penalty is not possible")
    factor = n if claim.witness["per_weight"] else 1.0
    return Strengths(l1 * factor, l2 * factor, bias)


def free_intercept(claim: Claim) -> bool:
    """Whether an intercept is fitted that has no penalty."""
    return bool(claim.witness["fit_intercept"]) and not float(np.asarray(claim.witness["strengths"])[2])


class LossSums(NamedTuple):
    """Σcℓ, Σcℓ*(u), Σ c u (x − p) and Σ c u (the gradient (d + 1,) or (K, d + 1)), and Σ c|u| of both sides, where there are two."""

    loss: float
    conjugate: float
    gradient: Floats
    sides: tuple[float, float] = (0.0, 0.0)

    def balance(self) -> tuple[float, float]:
        """What u of t = 1 and of t = −1 are multiplied by, so that Σ c u = 0: the side of more comes down to the other."""
        first, second = self.sides
        return min(1.0, second / first), min(1.0, first / second)


def sums_of(
    claim: Claim, rows: CheckedRows, case: Case, shape: RowMoments, balance: tuple[float, float] = (1.0, 1.0)
) -> LossSums:
    """About the centre p of the rows; `balance`: a factor of u where t = 1 and where t = −1, at most 1."""
    name = claim.witness["loss"]
    loss = conjugate = first = second = 0.0
    aim = _aim(claim, shape)
    gradient, w = np.zeros_like(case.w), shape.weights(case.w, aim)
    for X, codes, c, start in numbered_blocks(claim, rows, shape.origin):
        t = target_of(case, codes, aim)
        z = times(X, w[..., :-1].T) + w[..., -1]
        if case.rows is None or case.values is None:
            share = np.where(t > 0, *balance) if balance != (1.0, 1.0) else None
            value, u, star = softmax_terms(z, t) if name == "softmax" else _terms(name, z, t, case.width, share)
            cu = (c * u.T).T
            conjugate += float(c @ star)
        elif case.positive is None:
            loss_of, here = loss_terms(name), (case.rows >= start) & (case.rows < start + len(t))
            value, cu, there = loss_of.value(z, t, case.width), c * loss_of.slope(z, t, case.width), c > 0
            cu[case.rows[here] - start] = -case.values[here]
            if np.any(cu[~there]):
                raise ValueError("a row that weighs nothing has a multiplier")
            u = np.divide(cu, c, out=np.zeros_like(cu), where=there)
            u = np.where(
                np.abs(u - loss_of.into_domain(u, t, case.width)) <= 4 * EPS, loss_of.into_domain(u, t, case.width), u
            )
            cu = c * u
            conjugate += float(c @ loss_of.conjugate(u, t, case.width))
        else:
            value, alpha = np.maximum(0.0, 1.0 - t * z), np.where(t * z < 1.0, c, 0.0)
            here = (case.rows >= start) & (case.rows < start + len(t))
            alpha[case.rows[here] - start] = case.values[here]
            if np.any(alpha < 0) or np.any(alpha > c):
                raise ValueError("a multiplier lies outside [0, weight of its row]")
            alpha = alpha * np.where(t > 0, *balance)
            cu = -t * alpha
            conjugate -= float(alpha.sum())
        loss += float(c @ value)
        if case.positive is not None:
            first, second = first + abs(float(cu[t > 0].sum())), second + abs(float(cu[t < 0].sum()))
        gradient[..., -1] += cu.sum(axis=0)
        gradient[..., :-1] += back(X, cu).T
    gradient[..., :-1] -= np.multiply.outer(gradient[..., -1], shape.centre - shape.origin)
    return LossSums(loss, conjugate, gradient, (first, second))


def _aim(claim: Claim, shape: RowMoments) -> float:
    """What scores and targets are counted from: the mean target, where an error is their difference and b is free."""
    number = claim.witness["loss"] in NUMBERS and claim.witness["classes"] is None
    return shape.target if number and free_intercept(claim) else 0.0


def target_of(case: Case, codes: Array, aim: float = 0.0) -> Any:
    """±1, or codes and numbers as they are, less what they are counted from."""
    if case.positive is None:
        return codes - aim if aim else codes
    return np.where(codes == case.positive, 1.0, -1.0)


def _terms(name: str, z: Floats, t: Array, width: float, share: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    loss = loss_terms(name)
    u = loss.slope(z, t, width) if share is None else share * loss.slope(z, t, width)
    return loss.value(z, t, width), u, loss.conjugate(u, t, width)


def _softmax_cost(case: Case, shape: RowMoments, s: Strengths, value: float, gap: float, left: Floats) -> float:
    """A row of class y loses at least z_k − z_y, hence b_k − b_y ≤ F/n_y + |x̄_y·(w_k − w_y)| at a minimum; the slopes of all
    intercepts add up to zero, and Σ g_k b_k ≥ −½ Σ|g_k| · max(b_k − b_y)."""
    w = case.w[:, :-1]

    def far(fall: float) -> float:
        return float(
            max(
                value / n + mean_score(s, value, fall, mean, w[k] - w[y], pair=2) if n > 0 else np.inf
                for y, (n, mean) in enumerate(zip(shape.weight, shape.means))
                for k in range(len(w))
            )
        )

    return intercept_cost(float(np.abs(left - left.mean()).sum()) / 2, gap, value, far)


def _intercept_cost(
    claim: Claim, case: Case, shape: RowMoments, s: Strengths, value: float, gap: float, left: Floats
) -> float:
    """What the slope `left` in free intercepts costs the bound at most; `gap` is what the bound lacks without that.

    The rows of a side, of weight n, lose F/n on average at most: that bounds their mean score x̄·w + b, hence b.
    """
    name, w = claim.witness["loss"], case.w[..., :-1]
    if name == "softmax":
        return _softmax_cost(case, shape, s, value, gap, left)
    if name in NUMBERS:
        n = float(shape.weight.sum())
        target = shape.target if case.positive is None else 2.0 * float(shape.weight[case.positive]) / n - 1.0
        off = abs(target - _aim(claim, shape)) + farthest_target(name, value / n, case.width)
        mean = shape.weight @ shape.means / n
        return intercept_cost(abs(float(left)), gap, value, lambda fall: off + mean_score(s, value, fall, mean, w))
    inside = np.arange(len(shape.weight)) == case.positive
    sides = []
    for mine in (inside, ~inside):
        n = float(shape.weight[mine].sum())
        if not n > 0:  # nothing holds the intercept
            return np.inf if left else 0.0
        sides.append((max(0.0, -least_margin(name, value / n)), shape.weight[mine] @ shape.means[mine] / n))

    def far(fall: float) -> float:
        return max(margin + mean_score(s, value, fall, mean, w) for margin, mean in sides)

    return intercept_cost(abs(float(left)), gap, value, far)


@check("duality_gap")
def check_duality_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Sum objective and lower bound again; the relative gap of each problem must be at most the stated tolerance."""
    tolerance = float(claim.witness["tolerance"])
    free = not np.asarray(claim.witness["strengths"], dtype=np.float64)[:2].any()
    if free and not (claim.witness["loss"] in STRAIGHT and float(claim.witness.get("box", 0.0)) >= 10):
        return Verdict(claim.name, False, "weights without a penalty have no such bound", kind=claim.kind)
    return _verdict(claim, rows, *gap_and_objectives(claim, rows, tolerance))


def gap_and_objectives(claim: Claim, rows: CheckedRows, tolerance: float) -> tuple[float, list[float], list[float]]:
    """The largest relative gap of the problems behind the coefficients, their objectives, and what rounding may hide of these."""
    free = free_intercept(claim)
    shape = shape_of(claim, rows, free)
    penalty = strengths_of(claim, float(shape.weight.sum()))
    worst, totals, rooms = 0.0, [], []
    for case in cases(claim, rows.n_columns):
        s = sums_of(claim, rows, case, shape)
        value = s.loss + penalty.value(case.w)
        off = _slopes_off(claim, rows, case, shape, penalty, tolerance)
        bound = _lower_bound(claim, case, shape, penalty, value, s, off)
        if (
            free and value - bound > SEEN * tolerance * value and min(s.sides) > 0
        ):  # of slopes that cancel rounding leaves some
            even = sums_of(claim, rows, case, shape, s.balance())
            even.gradient[-1] = 0.0
            bound = float(np.maximum(bound, _lower_bound(claim, case, shape, penalty, value, even, off)))
        lost = _hidden(claim, rows, case, shape, value, tolerance)
        rooms.append(lost)
        if claim.witness["loss"] in STRAIGHT:  # a sum of them is never less than zero, and known but for its rounding
            bound = float(np.minimum(np.maximum(bound, 0.0) + lost, value))
        else:
            bound -= max(0.0, lost - _seen(tolerance) * value)
        worst = float(np.maximum(worst, (value - bound) / value if value > 0 else 0.0))  # NaN stays, and is refused
        totals.append(value)
    return worst, totals, rooms


def _lower_bound(
    claim: Claim, case: Case, shape: RowMoments, penalty: Strengths, value: float, s: LossSums, off: Floats
) -> float:
    """−Σcℓ*(u) − Ω*(−Σ c u x), less what the slope of a free intercept may cost; slopes may be off by so much."""
    g = s.gradient.copy()
    if not claim.witness["fit_intercept"]:
        g[..., -1] = 0.0
    if "box" in claim.witness and not (penalty.l1 or penalty.l2):
        return _within_box(claim, case, shape, penalty, s.conjugate, g)
    rho = penalty.into_domain(np.abs(g) + off)
    bound = -rho * s.conjugate - penalty.conjugate(rho * g)
    if free_intercept(claim):
        bound -= _intercept_cost(claim, case, shape, penalty, value, value - bound, rho * g[..., -1])
    return bound


def _within_box(claim: Claim, case: Case, shape: RowMoments, penalty: Strengths, conjugate: float, g: Floats) -> float:
    """−Σcℓ*(u) + min g·w' over the box about the weights, in units of the target's over the columns' deviations."""
    about = shape.weights(case.w, _aim(claim, shape))
    about[-1] += case.w[:-1] @ (shape.centre - shape.origin)
    unit = shape.spread * np.append(1.0 / shape.scale, 1.0)
    free = penalty.free(len(unit) - 1)
    reach = float(claim.witness["box"]) * float(np.abs(g[free]) @ unit[free])
    return float(about[free] @ g[free]) - conjugate - reach - penalty.conjugate(np.where(free, 0.0, g))


def _slopes_off(
    claim: Claim, rows: CheckedRows, case: Case, shape: RowMoments, penalty: Strengths, tolerance: float
) -> Floats:
    """What the rounding of multipliers u may put each slope Σ c u x (d + 1,) off by, where l1 alone keeps slopes within bounds, and it shows.

    u is off by its last digits, and by those of its score times the curvature; of many rows such errors add up like the root of their squares.
    """
    none, name = np.zeros(case.w.shape[-1]), claim.witness["loss"]
    if not penalty.l2 == 0 < penalty.l1 or name not in BENDS:
        return none
    whole, squares, seen = none.copy(), none.copy(), SEEN * tolerance * penalty.l1
    aim = _aim(claim, shape)
    w, lean = shape.weights(case.w, aim), shape.centre - shape.origin
    for X, codes, c in blocks(claim, rows, shape.origin):
        z = times(X, w[..., :-1].T) + w[..., -1]
        t = target_of(case, codes, aim)
        u = softmax_terms(z, t)[1] if name == "softmax" else _terms(name, z, t, case.width)[1]
        digit = _rounding(sizes(X), w) if w.ndim == 1 else np.stack([_rounding(sizes(X), each) for each in w], axis=1)
        each = 4 * EPS * np.abs(u) + BENDS[name] * digit
        each = c * (each if each.ndim == 1 else each.max(axis=1))
        far = sizes(X) if isinstance(X, CsrBlock) else np.abs(X - lean)
        whole[:-1] += back(far, each)
        squares[:-1] += back(far.with_data(far.data**2) if isinstance(far, CsrBlock) else far**2, each**2)
    found: Floats = np.minimum(whole, ADD_UP * np.sqrt(squares))
    return np.where(found > seen, found, 0.0)


def _hidden(claim: Claim, rows: CheckedRows, case: Case, shape: RowMoments, value: float, tolerance: float) -> float:
    """What the rounding of scores may hide of losses that end at a margin.

    A row beyond its margin by more than the rounding of its score loses nothing; any other may lose so much more than was added up.
    """
    name, w = claim.witness["loss"], shape.weights(case.w)
    if name in STRAIGHT:
        unit = MET * (len(w) + 2) * EPS  # of targets: large weights that cancel must not excuse what they lose
        return sum(
            float(c @ np.minimum(_rounding(sizes(X), w, np.abs(y)), unit * (np.abs(y) + abs(shape.target))))
            for X, y, c in blocks(claim, rows, shape.origin)
        )
    if name not in ("hinge", "squared hinge"):
        return 0.0
    n, seen = float(shape.weight.sum()), _seen(tolerance) * value
    sizes_of_all = shape.scale + np.abs(shape.centre - shape.origin) + 16 * EPS * np.abs(shape.centre)
    most = n * float(_hides(name, np.sqrt(value / n), _rounding(sizes_of_all, w)))
    if most <= seen:
        return most
    lost = 0.0
    for X, codes, c in blocks(claim, rows, shape.origin):
        short, room = 1.0 - target_of(case, codes) * (times(X, w[:-1]) + w[-1]), _rounding(sizes(X), w)
        lost += float(c @ np.where(short > -room, _hides(name, np.maximum(short, 0.0), room), 0.0))
    return lost


def _seen(tolerance: float) -> float:
    """The share of an objective that rounding may hide without being told."""
    return max(2 * NEGLIGIBLE, SEEN * tolerance)


def _rounding(sizes_: Any, w: Floats, one: Any = 1.0) -> Any:
    """A bound on the rounding of 1 − t z (of numbers, t − z), for a sum of products with |x| = `sizes_` and the intercept."""
    return (len(w) + 3) * EPS / 2 * (one + times(sizes_, np.abs(w[:-1])) + abs(float(w[-1])))


def _hides(name: str, short: Any, room: Any) -> Any:
    """The most by which a loss changes where `short` does by `room`."""
    return room if name == "hinge" else room * (2 * short + room)


def same_objective(claim: Claim, totals: list[float], rows: CheckedRows, rooms: Any = 0.0) -> bool:
    """Whether the stated objectives are those found, and finite; computed columns have other digits wherever they are computed.

    `rooms`: what the rounding of scores may hide of each.
    """
    close = SAME if rows.columns_off is None else SAME_OF_COMPUTED
    stated = np.asarray(claim.witness["objective"], dtype=np.float64)
    room = close * np.abs(totals) + np.asarray(rooms) + 1e-300
    same = stated.shape == (len(totals),) and bool(np.all(np.abs(stated - totals) <= room))
    return bool(same and np.isfinite(totals).all())


def _verdict(claim: Claim, rows: CheckedRows, worst: float, totals: list[float], rooms: Any = 0.0) -> Verdict:
    tolerance = float(claim.witness["tolerance"])
    if not same_objective(claim, totals, rows, rooms):
        return Verdict(claim.name, False, f"the objective is {totals}", worst, claim.kind)
    total = float(sum(totals))
    if not 0 <= tolerance <= LOOSEST or claim.bound != tolerance:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} proves nothing", worst, claim.kind)
    holds = bool(worst <= SLACK * tolerance + 1e-12)
    reason = f"objective {total:.10g}, at most a share of {worst:.3g} above the least; {tolerance:g} is allowed"
    return Verdict(claim.name, holds, reason, worst, claim.kind)


@check("boxed_duality_gap")
def check_boxed_duality_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Without a penalty: the dual point u + ℓ''·dz of the witness's step, against all weights in the box."""
    w = claim.witness
    tolerance, box = float(w["tolerance"]), float(w["box"])
    loss = loss_terms(w["loss"])
    if any(np.asarray(w["strengths"], dtype=np.float64)) or loss.curvature is None or box < 10:
        return Verdict(claim.name, False, "the witness is of another kind of claim", kind=claim.kind)
    shape = shape_of(claim, rows, bool(w["fit_intercept"]))
    worst, totals, floors = 0.0, [], []
    steps = np.atleast_2d(np.asarray(w["step"], dtype=np.float64))
    for case, v in zip(cases(claim, rows.n_columns), steps, strict=True):
        step, seen = shape.weights(v), _seen(tolerance)
        value, bound, g = _boxed_bound(claim, rows, case, shape, step)
        last = EPS * float(np.abs(v[:-1]) @ np.abs(shape.origin) + abs(v[-1]))
        if (
            last * box * float(shape.weight.sum()) > seen * value > 0
        ):  # b of a step far from zero has no digits to prove it by
            step = step + _newton_step(claim, rows, case, shape, step, g)
            bound = float(np.maximum(bound, _boxed_bound(claim, rows, case, shape, step)[1]))
        floors.append(_floor(claim, rows, case))
        met = value <= floors[-1]  # of losses that are their own rounding nothing can fall
        worst = float(np.maximum(worst, 0.0 if met else (value - bound) / value))  # NaN stays, and is refused
        totals.append(value)
    return _verdict(claim, rows, worst, totals, floors)


def _floor(claim: Claim, rows: CheckedRows, case: Case) -> float:
    """Σ c (some roundings of t)², of losses of z − t: what is left of them where the rows are met."""
    if claim.witness["loss"] not in ("squared", "huber"):
        return 0.0
    squares = sum(float(c @ target_of(case, codes) ** 2) for _, codes, c in blocks(claim, rows))
    return squares * (MET * (len(case.w) + 2) * EPS) ** 2


def _boxed_bound(
    claim: Claim, rows: CheckedRows, case: Case, shape: RowMoments, step: Floats
) -> tuple[float, float, Floats]:
    """F, what it is at least for all weights in the box by the dual point after a step (about the origin), and Σ c u (x − p, 1) there."""
    w, loss, aim = claim.witness, loss_terms(claim.witness["loss"]), _aim(claim, shape)
    assert loss.curvature is not None
    value, star, g, at = 0.0, 0.0, np.zeros_like(case.w), shape.weights(case.w, aim)
    for X, codes, c in blocks(claim, rows, shape.origin):
        t = target_of(case, codes, aim)
        z, dz = (times(X, a[:-1]) + a[-1] for a in (at, step))
        u = loss.into_domain(loss.slope(z, t, case.width) + loss.curvature(z, t, case.width) * dz, t, case.width)
        value += float(c @ loss.value(z, t, case.width))
        star += float(c @ loss.conjugate(u, t, case.width))
        g[-1] += float(c @ u)
        g[:-1] += back(X, c * u)
    g[:-1] -= g[-1] * (shape.centre - shape.origin)
    at[-1] += (shape.centre - shape.origin) @ case.w[:-1]
    if not w["fit_intercept"]:
        g[-1] = 0.0
    reach = float(w["box"]) * float(np.abs(g) @ np.append(1.0 / shape.scale, 1.0))
    return value, -star + float(at @ g) - reach, g


def _newton_step(claim: Claim, rows: CheckedRows, case: Case, shape: RowMoments, step: Floats, g: Floats) -> Floats:
    """−H⁺g about the origin: what is missing of a step after which the slopes Σ c u (x − p, 1) = g should vanish."""
    loss, aim, lean = loss_terms(claim.witness["loss"]), _aim(claim, shape), shape.centre - shape.origin
    assert loss.curvature is not None
    H, at = np.zeros((len(g), len(g))), shape.weights(case.w, aim)
    for X, codes, c in blocks(claim, rows, shape.origin):
        bend = loss.curvature(times(X, at[:-1]) + at[-1], target_of(case, codes, aim), case.width)
        A = np.column_stack([X.toarray() if isinstance(X, CsrBlock) else X, np.ones(len(c))])
        A[:, :-1] -= lean
        H += (A * (c * bend)[:, None]).T @ A
    if not claim.witness["fit_intercept"]:
        H[-1, :] = H[:, -1] = 0.0
    size = np.sqrt(np.diag(H))
    unit = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    values, V = np.linalg.eigh(H * unit * unit[:, None])
    live = values > 1e-13 * len(H) * values[-1]
    out: Floats = -unit * (V[:, live] @ ((V[:, live].T @ (unit * g)) / values[live]))
    out[-1] -= lean @ out[:-1]
    return out
