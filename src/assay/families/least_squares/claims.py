"""The certificate of a least-squares fit: normal equations, rank and condition, minimum norm, variance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.families.least_squares.normal_equations import NormalSystem
from assay.numerics import Floats

TOLERANCE = 1e-9  # what the normal equations may be off by, besides rounding
ROUNDING = 64 * float(np.finfo(np.float64).eps)
INSIDE = 1e-8  # of its length: what may lie outside of the span of the rows, besides rounding
NOTHING = 1e150  # a share of rounding that leaves nothing to be claimed
ORTHONORMAL = 1e-2  # what WᵀXᵀXW may differ from I by, besides the rounding of W
FULL_RANK = 0.5  # from 1 on it would prove no rank
LOOSEST = 1e-2  # what a user may allow at most and still claim a minimum


COVERAGE = Coverage(
    proof={
        "normal_equations": "coef_ intercept_",
        "residual_variance": "sigma2_",
        "least_squares_rank": "rank_ condition_ inverse_root_",
    },
    nothing="singular_ cut_ off_by_ n_iter_ converged_ state.n state.mean state.scatter state.cross state.target_mean "
    "state.target_scatter",
    but="the statistics (state) that partial_fit would go on from, and standard errors taken from them",
)


class LeastSquaresEvidence(NamedTuple):
    """What a fit knows of itself; W is the inverse root of XᵀX + alpha·I, `cut` below which a direction is rounding. `columns_off` (d,): what
    the columns themselves may be off by, where they were computed."""

    coef: Floats
    intercept: float
    inverse_root: Floats
    condition: float
    cut: float
    sigma2: float
    off: float
    tolerance: float
    columns_off: Floats | None = None

    @property
    def residuals_off(self) -> float:
        """What each residual may be off by because the columns are."""
        return 0.0 if self.columns_off is None else float(np.abs(self.coef) @ self.columns_off)


def claims_of(
    system: NormalSystem, e: LeastSquaresEvidence, *, shortest: bool, positive: bool = False
) -> tuple[Claim, ...]:
    """All claims of a fit; `shortest`: its solver finds the solution of minimum norm; `positive`: among weights ≥ 0."""
    witness = {
        "coef": e.coef,
        "intercept": np.array([e.intercept]),
        "alpha": np.array([system.alpha]),
        "fit_intercept": np.array([float(system.intercept)]),
        "inverse_root": e.inverse_root,
        "cut": np.array([e.cut]),
    }
    if positive:
        witness["positive"] = np.array([1.0])
    least = [_least_norm(system, e, witness)] if shortest and e.inverse_root.shape[1] < len(e.coef) else []
    return (_stationary(system, e, witness), _rank(system, e, witness), *least, _variance(system, e, witness))


def _stationary(system: NormalSystem, e: LeastSquaresEvidence, witness: dict[str, Any]) -> Claim:
    penalty, length = (" - alpha*w", "sqrt(|x_j|^2 + alpha)") if system.alpha else ("", "|x_j|")
    about = " about the means" if system.intercept else ""
    varies = system.yy > 0  # a target without length allows for nothing: weights of zero fit it exactly
    bound = e.tolerance + system.rounding(e.coef, e.intercept) + _of_columns(system, e) if varies else 0.0
    lost = len(system.c) - np.count_nonzero(system.matrix.diagonal() == 0) - e.inverse_root.shape[1]
    minimum = "w, b are a minimum"
    if "positive" in witness:
        minimum = "where w > 0, and less than that elsewhere: w, b are a minimum of all w >= 0"
    among = f" among those that take what depends to {e.cut:.1g} for dependent" if lost else ""
    return Claim(
        name="normal equations",
        statement=f"X'(y - b - Xw){penalty} = 0 to {e.tolerance:g} of {length}|y|{about}, and rounding{':' if minimum.startswith('w, b') else ''} {minimum}{among}",
        holds=bool(e.off <= bound <= LOOSEST and (varies or not e.coef.any())),
        check="normal_equations",
        value=float(e.off),
        bound=float(bound),
        witness={**witness, "tolerance": np.array([e.tolerance])},
    )


def _of_columns(system: NormalSystem, e: LeastSquaresEvidence) -> float:
    """What the normal equations may be off by because the columns are: in the residuals, and in what these are multiplied with."""
    if e.columns_off is None:
        return 0.0
    length = float(np.sqrt(system.n / system.yy))
    share = _shares_off(system, e)
    return length * (e.residuals_off + share * (e.residuals_off + float(np.sqrt(e.sigma2)))) + LOOSEST * (share >= 0.5)


def _shares_off(system: NormalSystem, e: LeastSquaresEvidence) -> float:
    """The root of the sum of squared shares of their lengths that columns are off by; NOTHING where one may have no length at all."""
    if e.columns_off is None:
        return 0.0
    lengths = np.sqrt(system.matrix.diagonal())
    shares = np.divide(np.sqrt(system.n) * e.columns_off, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return float(np.sqrt(shares @ shares)) if shares.max(initial=0.0) < 0.5 else NOTHING


def _rank(system: NormalSystem, e: LeastSquaresEvidence, witness: dict[str, Any]) -> Claim:
    d, r = e.inverse_root.shape
    matrix = "X'X + alpha*I" if system.alpha else "X"
    known = ORTHONORMAL + 4 * float(np.sqrt(d) * np.finfo(np.float64).eps) * e.condition
    accuracy = f" (to {known:.0%})" if known > 2 * ORTHONORMAL else ""  # rounding of W alone turns XW by εκ√d
    what = f"{matrix} has rank {r} of {d}, condition number {e.condition:.4g}{accuracy} with columns of length one"
    if r < d:
        to = e.cut + 2 * _shares_off(system, e)
        what += f"; columns are constant or depend on each other (to {to:.1g}): several w fit equally well"
    return Claim(
        name="rank and condition",
        statement=what,
        holds=bool(_shares_off(system, e) * e.condition <= LOOSEST and known <= FULL_RANK),
        check="least_squares_rank",
        value=float(e.condition),
        kind="proof" if r == d else "warning",
        witness={**witness, "rank": r},
    )


def _least_norm(system: NormalSystem, e: LeastSquaresEvidence, witness: dict[str, Any]) -> Claim:
    lengths = np.sqrt(system.matrix.diagonal())
    live = lengths > 0
    norm = float(np.linalg.norm(e.coef))
    share = 0.0
    if e.inverse_root.shape[1] < np.count_nonzero(live):  # columns of other lengths depend on each other less exactly
        share = ROUNDING * len(live) + 2 * _shares_off(system, e)
        share *= lengths.max() * float(np.linalg.norm(e.coef[live] / lengths[live]))
    rounded = (
        ""
        if e.columns_off is None
        else f", but for what rounding of the columns may turn it by: {share:.1g} of {norm:.1g}"
    )
    return Claim(
        name="minimum norm",
        statement=f"w lies in the span of the rows: no other solution of the normal equations is shorter{rounded}",
        holds=bool(
            _shares_off(system, e) <= LOOSEST
            and share <= LOOSEST * norm
            and _outside(e, lengths) <= INSIDE * norm + share
        ),
        check="minimum_norm",
        value=float(np.linalg.norm(e.coef)),
        witness=witness,
    )


def _outside(e: LeastSquaresEvidence, lengths: Floats) -> float:
    """How long the part of w is that lies outside of the span of the rows."""
    live = lengths > 0
    if e.inverse_root.shape[1] == np.count_nonzero(live):
        return float(np.linalg.norm(e.coef[~live]))
    V = np.linalg.qr(e.inverse_root * lengths[:, None])[0]
    Q = np.linalg.qr(V * lengths[:, None])[0]
    return float(np.linalg.norm(e.coef - Q @ (Q.T @ e.coef)))


def _variance(system: NormalSystem, e: LeastSquaresEvidence, witness: dict[str, Any]) -> Claim:
    known = e.columns_off is not None
    root, spread = float(np.sqrt(e.sigma2)), float(np.sqrt(system.yy / system.n))
    rounded = ", which the rounding of the features leaves open up to the bound" if known else ""
    return Claim(
        name="sigma^2",
        statement=f"the mean square of the residuals, the maximum-likelihood estimate of their variance{rounded}",
        holds=e.residuals_off <= LOOSEST * max(root, spread),
        check="residual_variance",
        value=float(e.sigma2),
        bound=(root + e.residuals_off) ** 2 if known else None,
        witness={**witness, "sigma2": np.array([e.sigma2])},
    )
