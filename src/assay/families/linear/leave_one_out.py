"""Leave-one-out errors of ridge regression for many strengths, in closed form: one eigendecomposition and one fold.

    y_i − h₋ᵢ(x_i) = (y_i − h(x_i)) / (1 − c_i·(1/n + x̃ᵢᵀ(S + alpha·I)⁻¹x̃ᵢ)),        S = Σ c x̃x̃ᵀ = VΛVᵀ,  x̃ = x − x̄

(Golub, Heath and Wahba 1979.) Without an intercept x̃ = x and there is no 1/n.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, fold
from assay.engines.csr import SparseMatrix
from assay.errors import ParameterError
from assay.families.linear.claims import witness_of
from assay.families.linear.problem import Objective, RowStatistics, TargetedRows, as_target_of, gram_about
from assay.numerics import Floats

MOST_AT_A_TIME = 1 << 18  # numbers of rows that are turned at a time
EPS = float(np.finfo(np.float64).eps)
ROUNDINGS = 16  # of the terms of an error
SEEN = 1e-6  # of an error: so much of it may be rounding
FEW = 0.1  # of the least curvature: beyond it, what rounding changes is no longer in proportion
FAR = 1e4  # columns are in units so far apart where the squares of the largest are FAR times those of the least
LEAST = 1e-12  # of a row's weight in its own answer, 1 − h, below which rounding is all that is left


class LeftOutSums(NamedTuple):
    """Σ c·(error of the fit without the row)² of each strength (a,) over all targets, the same of what rounding may put each error off by, the
    largest share of 1 − h that rounding may hide, and how many rows there are."""

    squares: Floats
    off: Floats
    share: float
    rows: int


class RidgeSystem(NamedTuple):
    """V (d, d) and Λ (d,) of the products of the columns about `centre`; of each target, Σ c x̃ t turned by V (T, d) and the mean; 1/n or 0; and
    how far `centre` is from zero in the units that V turns columns into."""

    V: Floats
    values: Floats
    centre: Floats
    cross: Floats
    means: Floats
    share: float
    far: float


def left_out_errors(
    engine: Engine,
    prepared: TargetedRows,
    statistics: RowStatistics,
    classes: list[int | None],
    alphas: Floats,
    fitted: bool,
) -> tuple[Floats, bool]:
    """The mean square error on the row left out, for each strength, and whether all are more than rounding; `classes`: those against the rest, or None for a number."""
    rows, encode = prepared.of(None)

    def summed(tried: Floats, alpha: float | None) -> tuple[LeftOutSums, bool]:
        system = _system(statistics, classes, fitted, alpha)
        found = fold(engine, rows.blocks(), partial(_absorb, system, classes, tried, encode), _merge)
        assert found is not None
        return found, found.share <= SEEN and bool(np.all(np.sqrt(found.off) <= SEEN * np.sqrt(found.squares)))

    found, known = summed(alphas, None)
    squares = found.squares
    if not known and _in_units_apart(statistics, float(alphas.min())):  # then each strength by itself
        each = [summed(np.zeros(1), float(alpha)) for alpha in alphas]
        squares, known = np.concatenate([one.squares for one, _ in each]), all(sure for _, sure in each)
    return np.asarray(squares / max(1, found.rows * len(classes))), known


def _in_units_apart(statistics: RowStatistics, alpha: float) -> bool:
    assert statistics.gram is not None
    squares = np.diag(statistics.gram.scatter) + alpha
    return bool(squares.max(initial=0.0) > FAR * squares.min(initial=np.inf))


def _system(
    statistics: RowStatistics, classes: list[int | None], fitted: bool, alpha: float | None = None
) -> RidgeSystem:
    """Of S for all strengths alike; or of S + alpha·I with columns in units that give it ones on the diagonal."""
    gram, n = statistics.gram, statistics.n
    if gram is None:
        raise ParameterError(
            f"The closed form of leave-one-out needs the products of all {statistics.classes.mean.shape[1]} columns, which are too many: give cv=5."
        )
    centre = gram.mean if fitted else np.zeros_like(gram.mean)
    G = gram_about(statistics, centre)
    assert G is not None
    S, unit = G[:-1, :-1], np.ones(len(centre))
    if alpha is not None:
        unit = 1.0 / np.sqrt(np.diag(S) + alpha)
        S = S * unit * unit[:, None] + np.diag(alpha * unit**2)
    values, V = np.linalg.eigh(S)
    V = V * unit[:, None]
    targets = [as_target_of(statistics, positive) for positive in classes]
    means = np.array([mean if fitted else 0.0 for mean, _ in targets])
    lean = gram.mean - centre
    cross = np.stack([about + n * mean * lean for mean, about in targets])
    values = np.maximum(values, 0.0 if alpha is None else EPS)
    far = float(np.linalg.norm(centre * unit))
    return RidgeSystem(V, values, centre, cross @ V, means, 1.0 / n if fitted else 0.0, far)


def _absorb(
    system: RidgeSystem, classes: list[int | None], alphas: Floats, encode: object, block: Block
) -> LeftOutSums:
    block = block if encode is None else encode(block)  # type: ignore[operator]
    assert block.y is not None
    inverse = 1.0 / (system.values[:, None] + alphas)  # (d, a)
    squares, off = np.zeros(len(alphas)), np.zeros(len(alphas))
    turned = ROUNDINGS * len(system.centre) * EPS * system.values.max(initial=0.0)  # what VΛVᵀ may be off from S by
    share = (
        np.inf if turned > FEW * float(1.0 / inverse.max()) else 0.0
    )  # of a direction that may be rounding nothing is known
    step = max(1, MOST_AT_A_TIME // max(1, len(system.centre)))
    for i in range(0, len(block.y), step):
        X = block.X[i : i + step]
        Z = ((X.toarray() if isinstance(X, SparseMatrix) else X) - system.centre) @ system.V
        c = np.ones(len(Z)) if block.w is None else block.w[i : i + step]
        rest = np.maximum(1.0 - c[:, None] * ((Z * Z) @ inverse + system.share), LEAST)
        wide = EPS * (np.sqrt((Z * Z).sum(axis=1)) + system.far)[:, None]  # what a number of Z may be off by
        reach = np.sqrt((Z * Z) @ inverse**2)
        hidden = EPS + c[:, None] * reach * (turned * reach + 2 * ROUNDINGS * wide)
        share = max(share, float((hidden / rest)[c > 0].max(initial=0.0)))
        for k, positive in enumerate(classes):
            y = block.y[i : i + step]
            t = y if positive is None else np.where(y == positive, 1.0, -1.0)
            errors = (t - system.means[k])[:, None] - Z @ (system.cross[k][:, None] * inverse)
            squares += c @ (errors / rest) ** 2
            beta = system.cross[k][:, None] * inverse
            sizes = (np.abs(t) + abs(float(system.means[k])))[:, None] + np.abs(Z) @ np.abs(beta)
            lost = ROUNDINGS * EPS * sizes + (turned * reach + ROUNDINGS * wide) * np.sqrt((beta**2).sum(axis=0))
            off += c @ (lost / rest) ** 2
    return LeftOutSums(squares, off, share, len(block.y) if block.w is None else int(np.count_nonzero(block.w)))


def _merge(a: LeftOutSums, b: LeftOutSums) -> LeftOutSums:
    return LeftOutSums(a.squares + b.squares, a.off + b.off, max(a.share, b.share), a.rows + b.rows)


def leave_one_out_claim(objective: Objective, model: Any) -> Claim:
    """That the chosen strength of a ridge regression has the least error on the row left out."""
    least = float(model.left_out_.min())
    return Claim(
        name="leave-one-out",
        statement=f"of {len(model.strengths_)} strengths alpha = {model.alpha_:.6g} has the least mean square error on a row that the fit has not seen, "
        f"{least:.6g}",
        holds=bool(np.isfinite(model.left_out_).all() and model.sure_),
        check="ridge_leave_one_out",
        value=least,
        witness={
            **{
                k: v
                for k, v in witness_of(objective, model).items()
                if k in ("classes", "class_factor", "balanced", "fit_intercept")
            },
            "alpha": model.alpha_,
            "alphas": model.strengths_,
            "errors": model.left_out_,
        },
    )
