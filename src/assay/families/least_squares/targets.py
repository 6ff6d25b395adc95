"""Several targets at once: the columns of y (n, T), each with weights of its own, from one fold over the rows.

The scatter matrix of the columns is shared, and so is its factor wherever targets have the same penalty; what is refined, claimed and
checked is one target at a time, as if it were alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.certify import Claim
from assay.engines.derived import OneTarget
from assay.estimator.layout import Fact, Layout, Tensor
from assay.families.least_squares.claims import LeastSquaresEvidence, claims_of
from assay.families.least_squares.normal_equations import NormalSystem, RowPasses
from assay.statistics.gram import Gram

CHANGED: Layout = {
    "coef_": Tensor(("T", "d"), doc="the weights w of each target"),
    "intercept_": Tensor(("T",), doc="the constant b of each target"),
    "sigma2_": Tensor(("T",), low=0, doc="the mean square of the residuals of each target"),
    "off_by_": Tensor(("T",), low=0, doc="how far the normal equations of each target are from holding"),
    "n_iter_": Tensor(("T",), dtype="<i8", low=1, doc="the refinements of each target, or the steps of solver='gd'"),
    "converged_": Fact(bool, doc="whether all solutions are as accurate as was asked for"),
    "state.cross": Tensor(("T", "d")),
    "state.target_mean": Tensor(("T",)),
    "state.target_scatter": Tensor(("T",), low=0),
}


def of_each(g: Gram) -> Iterator[Gram]:
    """The statistics of one target after the other."""
    for t in range(len(g.cross)):
        yield g._replace(
            cross=g.cross[t], target_mean=g.target_mean[t : t + 1], target_scatter=g.target_scatter[t : t + 1]
        )


def passes_of(passes: RowPasses | None, t: int) -> RowPasses | None:
    """The rows with the target t alone."""
    return None if passes is None else passes._replace(rows=OneTarget(passes.rows, t))


def claims_of_each(
    systems: list[NormalSystem], evidence: list[LeastSquaresEvidence], *, shortest: bool, positive: bool
) -> tuple[Claim, ...]:
    """The claims of each target; rank and condition are those of the least penalty and stated once."""
    least = int(np.argmin([system.alpha for system in systems]))
    made: list[Claim] = []
    for t, (system, e) in enumerate(zip(systems, evidence)):
        same = system.alpha == systems[least].alpha
        for claim in claims_of(system, e, shortest=shortest and same, positive=positive):
            rank = claim.check == "least_squares_rank"
            if rank and t != least:
                continue
            name = claim.name if rank else f"{claim.name}, target {t}"
            made.append(replace(claim, name=name, witness={**claim.witness, "target": np.array([float(t)])}))
    return tuple(made)
