"""A problem seen in a few of its weights: all others stay as they are.

Of dense rows the chosen columns are taken out block by block, and all other weights must be zero; of sparse rows a pass
looks each entry's place up. Nothing of the rows is kept between folds, so streams and clusters run the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from assay.engines import Block
from assay.engines.sparse import SparseMatrix
from assay.numerics import Array, Floats
from assay.risk.penalties import Penalty
from assay.solvers.problem import NONE, Look, Problem, absorb_look, merge_looks, without_intercept


@dataclass(frozen=True, kw_only=True)
class ChosenColumns(Problem):
    """A problem in the weights (k + 1,) of the columns `chosen` (k,), rising, and the intercept.

    `all_weights` and `all_centres` (d + 1,) and (d,) are those of every column; where weights that are not chosen are
    other than zero, gap and dual have no meaning.
    """

    chosen: Array
    all_weights: Floats
    all_centres: Floats

    def look(self, w: Floats, *, hessian: int = 0) -> Look:
        """As `Problem.look`."""
        everything = self.everywhere(w)
        if not self.rows.sparse and np.any(np.delete(everything[:-1], self.chosen)):
            raise AssertionError("of dense rows only the chosen columns are read: all other weights must be zero")
        loss, at = self.loss, (everything, self.all_centres, self.chosen)
        seen = self.fold(partial(absorb_chosen, loss.code, loss.width, *at, bool(hessian)), merge_looks)
        return seen if self.intercept else without_intercept(seen)

    def everywhere(self, w: Floats) -> Floats:
        """The weights (d + 1,) of all columns where those of the chosen are w."""
        out = self.all_weights.copy()
        out[self.chosen], out[-1] = w[:-1], w[-1]
        return out


def choose_columns(problem: Problem, chosen: Array, w: Floats) -> ChosenColumns:
    """The problem in the weights of `chosen` (k,), column numbers, rising; w (d + 1,) are those of all columns."""
    places = np.append(chosen, len(problem.centre))
    first, second = (mean[chosen] if len(mean) else mean for mean in problem.reach.means)
    return ChosenColumns(
        engine=problem.engine,
        rows=problem.rows,
        loss=problem.loss,
        penalty=Penalty(problem.penalty.l1[places], problem.penalty.l2[places]),
        centre=problem.centre[chosen],
        scale=problem.scale[places],
        reach=problem.reach._replace(means=(first, second)),
        prepare=problem.prepare,
        intercept=problem.intercept,
        chosen=chosen,
        all_weights=w,
        all_centres=problem.centre,
    )


def absorb_chosen(
    code: int, width: float, w: Floats, centre: Floats, chosen: Array, hessian: bool, block: Block
) -> Look:
    """The sums of one block at w (d + 1,), gradient and Hessian in the chosen columns and the intercept."""
    if not isinstance(block.X, SparseMatrix):
        picked = block._replace(X=np.ascontiguousarray(block.X[:, chosen]))
        return absorb_look(code, width, np.append(w[chosen], w[-1]), centre[chosen], hessian, picked)
    from assay.loops.columns import sweep_columns

    assert block.y is not None
    k = len(chosen) + 1
    g, sums = np.zeros(k), np.array([0.0, 0.0, 0.0, np.inf])
    H = np.zeros((k, k) if hessian else (0, 0))
    X, c = block.X, NONE if block.w is None else block.w
    sweep_columns(code, width, X.data, X.indices, X.indptr, block.y, c, w, centre, chosen, g, H, sums)
    return Look(float(sums[0]), float(sums[1]), float(sums[2]), float(sums[3]), g, H if hessian else None)
