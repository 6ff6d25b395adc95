"""The hard margin: min ½‖w‖² such that every row has t(w·x + b) ≥ 1, with its multipliers as proof. Shape: repeated fold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.errors import DataError
from assay.labels import Labels, plain_labels
from assay.numerics import Array, Floats
from assay.solvers.projected_gradient import Step as PgdStep
from assay.solvers.projected_gradient import projected_gradient
from assay.solvers.separation import HardMargin, hard_margin, separate

MOST_ROWS = 2000  # that the lecture notes' projected gradient takes


class Hard(NamedTuple):
    """One problem's answer: the weights (d + 1,), their multipliers, ½‖w‖², the relative gap, and the steps it took."""

    w: Floats
    rows: Array
    alpha: Floats
    primal: float
    gap: float
    steps: int


def widest(engine: Engine, rows: Rows, labels: Labels, positive: int, intercept: bool) -> tuple[HardMargin, int]:
    """The hard margin of class `positive` against the rest, or an error that names the rows in its way."""
    found = separate(engine, rows, labels, positive=positive, space="affine" if intercept else "linear")
    if found.separable:
        return hard_margin(found), found.passes
    name = plain_labels(labels.classes)[positive]
    if found.separable is None:
        raise DataError(
            f"Whether a hyperplane separates class {name!r} could not be decided: {found.reason}. Use a finite C."
        )
    raise DataError(
        f"No hyperplane separates class {name!r} from the rest (the hulls of rows {found.rows.tolist()[:10]} meet), so the hard "
        "margin C=inf has no solution: use a finite C, or see assay.separability(X, y)."
    )


def solve_hard(engine: Engine, rows: Rows, labels: Labels, positive: int, intercept: bool) -> Hard:
    """By the working set of separation.py."""
    found, passes = widest(engine, rows, labels, positive, intercept)
    w = np.append(found.coef, found.intercept)
    order = np.argsort(found.rows)
    return Hard(w, found.rows[order], found.alpha[order], found.primal, found.gap, passes)


def projected_steps(
    rows: Rows, labels: Labels, positive: int, intercept: bool, eta: float, most: int
) -> Iterator[PgdStep]:
    """Projected gradient descent as the lecture notes write it, until ½‖w‖² no longer falls, or `most` steps."""
    rows = rows.at_hand()
    if not rows.resident or rows.sparse or len(rows.X) > MOST_ROWS:
        raise DataError(
            f"solver='pgd' projects on one constraint a row, as the lecture notes do: it takes at most {MOST_ROWS} rows of a dense "
            "table. Use solver='auto', which finds the same answer."
        )
    if not intercept:
        raise DataError(
            "solver='pgd' fits an intercept, as the lecture notes do: use solver='auto' for fit_intercept=False."
        )
    assert rows.y is not None
    counts = np.ones(len(rows.X), dtype=bool) if rows.w is None else rows.w > 0
    sides = np.where(labels.encode(rows.y) == positive, 1.0, -1.0)[counts]
    before = np.inf
    for step in projected_gradient(rows.X[counts].astype(np.float64), sides, eta):
        yield step
        if step.t >= most or before - step.objective <= 1e-14 * step.objective:
            return
        before = step.objective


def hard_margin_claims(model: Any, tol: float) -> tuple[Claim, ...]:
    """Constraints, duality gap and margin; for two classes the bound on the leave-one-out error as well."""
    witness = {
        "coef": model.coef_,
        "intercept": model.intercept_,
        "classes": plain_labels(model.classes_),
        "fit_intercept": bool(model.fit_intercept),
        "dual_problem": model.dual_problem_,
        "dual_rows": model.dual_rows_,
        "dual_values": model.dual_values_,
        "tolerance": float(tol),
    }
    gap = float(model.gap_.max())
    margins = ", ".join(f"{1 / np.linalg.norm(w):.6g}" for w in model.coef_[:5])
    claims = [
        Claim(
            name="hard margin",
            statement=f"every row has t(w.x + b) >= 1, and |w|^2/2 is at most a share of {tol:g} above the least possible, by the "
            f"multipliers of {len(model.dual_rows_)} support rows: margin 1/|w| = {margins}",
            holds=bool(gap <= tol),
            check="hard_margin",
            value=gap,
            bound=float(tol),
            witness=witness,
        )
    ]
    if len(model.coef_) == 1:
        share = len(model.dual_rows_) / float(model.rows_)
        claims.append(
            Claim(
                name="leave-one-out error",
                statement="the share of rows that a fit without them would get wrong is at most that of the support rows: the others "
                "can be left out without change (of the exact solution, to which the gap comes near)",
                holds=True,
                check="leave_one_out_bound",
                value=share,
                kind="estimate",
                witness=witness,
            )
        )
    return tuple(claims)
