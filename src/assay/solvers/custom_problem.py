"""Regularised risk with a loss that only its user's functions know: NumPy in place of the compiled loops.

By convexity every slope u at z gives ℓ(z') ≥ ℓ(z) + u(z' − z), so the dual bound needs no conjugate. Only how far free
weights can be is not known of such a loss: they are bounded to a box around the ones at hand. The check of slope against
value is repeated on some rows of every block at every evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from assay.engines import Block, Engine
from assay.engines.csr import SparseMatrix
from assay.errors import EngineError
from assay.numerics import Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.solvers.problem import Evaluation, Problem, merge_evaluations, rows_back, rows_times, without_intercept

BOX = 1e3  # in units of one over a column's scale
SOME = 64  # rows of a block whose slopes are compared with the values


@dataclass(frozen=True)
class CustomProblem(Problem):
    """As `Problem`; its loss is a `CustomSurrogate`."""

    def evaluate(self, w: Floats, *, hessian: int = 0) -> Evaluation:
        """As `Problem.evaluate`; a Hessian is always from all rows."""
        assert isinstance(self.loss, CustomSurrogate)
        found = self.fold(partial(absorb_custom, self.loss, w, self.centre, bool(hessian)), merge_evaluations)
        return found if self.intercept else without_intercept(found)

    def dual(self, evaluation: Evaluation, w: Floats) -> float:
        """A lower bound of F for weights that are penalised or in the box; of a loss that is not convex, a measure of slope.

        ρ·(Σcℓ − g·w) − Ω*(−ρg) + ρ·min_box g·w'
        """
        g, free = evaluation.gradient, self.penalty.free
        rho = self.penalty.shrink(g)
        inside = float(g[free] @ w[free]) - BOX * float(np.abs(g[free]) @ (1.0 / self.scale[free]))
        return rho * (evaluation.loss - float(w @ g) + inside) - self.penalty.conjugate(rho * g)


def absorb_custom(loss: CustomSurrogate, w: Floats, centre: Floats, hessian: bool, block: Block) -> Evaluation:
    """The sums of one block; its y are targets, its w weights."""
    assert block.y is not None
    t = np.asarray(block.y, dtype=np.float64)
    c = np.ones(len(t)) if block.w is None else block.w
    z = rows_times(block.X, w, centre)
    some = slice(None, None, max(1, len(t) // SOME))
    loss.check_slope(z[some], t[some])
    u = loss.slope(z, t, 0.0)
    total = float(c @ loss.value(z, t, 0.0))
    with np.errstate(all="ignore"):  # where a step is too long the sums overflow, and it is taken back
        g, slopes = rows_back(block.X, c * u, centre), float(c @ np.abs(u))
    H = _hessian(loss, z, t, c, centre, block) if hessian else None
    return Evaluation(total, total, slopes, float(np.min(t * z, where=c > 0, initial=np.inf)), g, H)


def _hessian(loss: CustomSurrogate, z: Floats, t: Floats, c: Floats, centre: Floats, block: Block) -> Floats:
    assert loss.curvature is not None
    X = block.X.toarray() if isinstance(block.X, SparseMatrix) else block.X
    A = np.column_stack([X.astype(np.float64) - centre, np.ones(len(t))])
    with np.errstate(all="ignore"):
        out: Floats = (A * (c * loss.curvature(z, t, 0.0))[:, None]).T @ A
    return out


@dataclass(frozen=True)
class _Probe:
    """What is sent to a worker to see whether it arrives."""

    loss: CustomSurrogate

    def __call__(self, item: int) -> int:
        return item


def refuse_unsendable(engine: Engine, loss: CustomSurrogate) -> None:
    """Raise where the functions of the loss do not reach the workers of a cluster."""
    if engine.shares_memory:
        return
    try:
        list(engine.map(_Probe(loss), [0]))
    except Exception as error:
        raise EngineError(
            f"The custom loss {loss.label!r} cannot be sent to the workers of the cluster ({error}): its functions must be "
            "picklable. Define them at the top level of a module that workers can import, and keep open files and locks out of them."
        ) from error
