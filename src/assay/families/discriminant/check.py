"""Checks of claims about normal class densities: means and covariances are formed again in two passes over the rows.

Nothing of the model's code is used: sums are taken row block by row block about a row and then about the mean of the first pass, covariances
are compared with the whitening matrices that predictions use, ranks come from singular values. Where covariances had to be pulled towards the common one, the share
must be the one of least leave-one-out error: each row's density without the row itself is formed from inverses of covariances by the formula of Sherman
and Morrison, in the columns' units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats

TOLERANCE = 1e-6
EPS = float(np.finfo(np.float64).eps)
SHARES = 8  # 1, 1/4, 1/16, …
LEAST = 1e-7  # where less of a covariance is left without a row, rounding decides how that row is answered
STEP = 256  # rows at a time


class Recomputed(NamedTuple):
    """What the rows give: N_k with class weights, means (K, d), covariances (G, d, d), spread of the columns over all rows (d,), N_k without class
    weights, amounts of shrinkage (K,)."""

    n: Floats
    mean: Floats
    covariance: Floats
    spread: Floats
    raw: Floats
    amounts: Floats


def pieces(rows: CheckedRows, classes: list[Any]) -> Iterator[tuple[int, Floats, Floats]]:
    """One pass over the rows: (class, its rows in a block, their weights)."""
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("The target is needed to check what was learnt of the classes: give verify(X, y).")
        if not np.isin(block.y, classes).all():
            raise ValueError("the rows hold classes that the witness does not know")
        w = np.ones(len(block.X)) if block.w is None else np.asarray(block.w, dtype=np.float64)
        for k, label in enumerate(classes):
            mine = (block.y == label) & (w > 0)
            yield k, block.X[mine].astype(np.float64), w[mine]


class Centres(NamedTuple):
    """The mean of each class as first + shift, both (K, d), with first one of its rows: a column may vary by few roundings of its mean."""

    first: Floats
    shift: Floats

    def off(self, k: int, X: Floats) -> Floats:
        """x − μ_k of each row."""
        U: Floats = (X - self.first[k]) - self.shift[k]
        return U


def _centres(rows: CheckedRows, classes: list[Any], d: int) -> tuple[Floats, Centres]:
    """Weight (K,) and centre of each class."""
    n, first, seen = np.zeros(len(classes)), np.zeros((len(classes), d)), set()
    total, rest = np.zeros((len(classes), d)), np.zeros((len(classes), d))
    for k, X, w in pieces(rows, classes):
        if len(X) and k not in seen:
            seen.add(k)
            first[k] = X[0]
        n[k] += w.sum()
        total[k] += w @ (X - first[k])
    size = np.where(n > 0, n, 1.0)[:, None]
    about = Centres(first, total / size)
    for k, X, w in pieces(rows, classes):  # the mean of what is left takes the rounding of the first sum away
        rest[k] += w @ about.off(k, X)
    return n, Centres(first, about.shift + rest / size)


def _covariances(rows: CheckedRows, classes: list[Any], n: Floats, centres: Centres) -> Floats:
    K, d = centres.first.shape
    S, left, size = np.zeros((K, d, d)), np.zeros((K, d)), np.where(n > 0, n, 1.0)
    for k, X, w in pieces(rows, classes):
        U = centres.off(k, X)
        S[k] += U.T @ (w[:, None] * U)
        left[k] += w @ U
    left /= np.sqrt(size)[:, None]  # before they are multiplied: weights and values are each at any scale
    S -= left[:, :, None] * left[:, None, :]  # the centre itself is rounded
    C: Floats = (S + S.transpose(0, 2, 1)) / 2 / size[:, None, None]
    return C


def _ledoit_wolf(rows: CheckedRows, classes: list[Any], n: Floats, centres: Centres, C: Floats) -> Floats:
    """By how much (K,) Ledoit and Wolf (2004) shrink the correlations of each class."""
    K, d = centres.first.shape
    v = _variances(C)
    quartic = np.zeros(K)
    for k, X, w in pieces(rows, classes):
        quartic[k] += w @ ((centres.off(k, X) ** 2 / v[k]).sum(axis=1) ** 2)
    amounts = np.zeros(K)
    for k in [k for k in range(K) if n[k] > 0 and d > 1]:
        R = C[k] / np.sqrt(np.outer(v[k], v[k]))
        beta = (quartic[k] / n[k] - float((R**2).sum())) / (n[k] * d)
        delta = float(((R - np.trace(R) / d * np.eye(d)) ** 2).sum()) / d
        amounts[k] = min(beta, delta) / delta if beta > 0 and delta > 0 else 0.0
    return np.where(amounts > 1e-12, amounts, 0.0)  # less is rounding


def _variances(C: Floats) -> Floats:
    diagonal = np.diagonal(C, axis1=1, axis2=2)
    return np.where(diagonal > 0, diagonal, 1.0)


def _shrunk_correlations(C: Floats, amounts: Floats) -> Floats:
    """Correlations pulled towards the sphere, in the columns' own units again."""
    d, root = C.shape[1], np.sqrt(_variances(C))
    R = C / root[:, :, None] / root[:, None, :]
    a = amounts[:, None, None]
    sphere = np.trace(R, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    out: Floats = ((1 - a) * R + a * sphere) * root[:, :, None] * root[:, None, :]
    return out


def recompute(witness: dict[str, Any], rows: CheckedRows) -> Recomputed:
    """Means and covariances by the recipe in the witness."""
    classes, shrinkage = witness["classes"], witness["shrinkage"]
    d = witness["added"].shape[1]
    raw, centres = _centres(rows, classes, d)
    mean = centres.first + centres.shift
    C = _covariances(rows, classes, raw, centres)
    overall = raw @ mean / raw.sum()
    variance = raw / raw.sum() @ (np.diagonal(C, axis1=1, axis2=2) + (mean - overall) ** 2)
    amounts = np.full(len(raw), 0.0 if shrinkage in (None, "auto") else shrinkage)
    if shrinkage == "auto":
        amounts = _ledoit_wolf(rows, classes, raw, centres, C)
        C = _shrunk_correlations(C, amounts)
    elif shrinkage is not None:
        sphere = np.trace(C, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
        C = (1 - shrinkage) * C + shrinkage * sphere
    if "estimated" in witness:  # an estimator of the user's gave the classes' covariances
        C = _given(witness["estimated"], C.shape)
    n = raw * np.array(witness["multipliers"])
    return Recomputed(n, mean, _by_recipe(witness, n, C), np.sqrt(variance), raw, amounts)


def _given(C: Any, shape: tuple[int, ...]) -> Floats:
    """Covariances as they were given, if they are any."""
    given = np.asarray(C, dtype=np.float64)
    if given.shape != shape or not np.isfinite(given).all() or not np.array_equal(given, given.transpose(0, 2, 1)):
        raise ValueError("the witness holds no covariance for each class")
    return given


def _by_recipe(witness: dict[str, Any], n: Floats, C: Floats) -> Floats:
    """The classes' covariances tied, corrected, structured and regularised as the witness says."""
    d = C.shape[1]
    size, dof = n, n - 1
    if witness["tied"]:
        share = n / n.sum() if witness["pools_rows"] else witness["priors"]
        C = np.einsum("k,kij->ij", share, C)[None]
        size, dof = np.array([n.sum()]), np.array([n.sum() - (n > 0).sum()])
    if witness["unbiased"]:
        C = C * np.where(dof > 0, size / np.where(dof > 0, dof, 1.0), 1.0)[:, None, None]
    if witness["covariance"] == "diagonal":
        C = C * np.eye(d)
    if witness["covariance"] == "isotropic":
        C = np.trace(C, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    out: Floats = (1 - witness["reg_param"]) * C + witness["reg_param"] * np.eye(d)
    return towards_common(out, n, float(witness["pooled_share"])) if "pooled_share" in witness else out


def towards_common(C: Floats, n: Floats, share: float) -> Floats:
    """[(1 − a) n_k Σ_k + a Σ_l n_l Σ_l] / [(1 − a) n_k + a N]: Friedman's (1989) mixture of own and common covariance."""
    S = n[:, None, None] * C
    out: Floats = ((1 - share) * S + share * S.sum(axis=0)) / ((1 - share) * n + share * n.sum())[:, None, None]
    return out


#: up to how many roundings of its mean a column may be taken to vary or not, in a class and over all rows: what is so small is as the
#: sums of a fit leave it, and those over all rows are of means, which are rounded themselves
EDGES = ((16.0, 16.0), (8.0, 8.0), (0.0, 0.0), (0.0, 8.0))


def units(C: Floats, mean: Floats, spread: Floats, edges: tuple[float, float] = EDGES[0]) -> Floats:
    """Standard deviations; where a column does not vary in the class, over all rows; where it never does, one."""
    noise, whole = (edge * EPS * np.abs(mean) for edge in edges)
    own = np.sqrt(np.maximum(np.diag(C), 0.0))
    return np.where(own > noise, own, np.where(spread > whole, spread, 1.0))


def groups(witness: dict[str, Any], found: Recomputed) -> list[tuple[int, Floats]]:
    """The covariances that have rows behind them, each with the mean that sets its scale."""
    if witness["tied"]:
        return [(0, np.abs(found.mean).max(axis=0))]
    return [(k, found.mean[k]) for k in range(len(found.n)) if found.n[k] > 0]


@check("discriminant_likelihood")
@np.errstate(all="ignore")
def check_likelihood(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Priors, means and covariances against those of the rows; A(Σ + added)Aᵀ = I and log|Σ + added| = −2 log|A|."""
    w = claim.witness
    found = recompute(w, rows)
    problem = _priors_problem(w, found.n) or _means_problem(w, found)
    worst = 0.0
    for g, mean in groups(w, found):
        A, C = w["whiten"][g], found.covariance[g] + np.diag(w["added"][g])
        unit = units(C, mean, found.spread)
        allowed = TOLERANCE + 1e-12 * float((A * A @ (unit * unit)).sum())
        error = float(np.abs(A @ C @ A.T - np.eye(len(A))).max())
        worst = float(np.maximum(worst, error))  # keeps NaN, which max() drops
        volume = abs(float(w["log_det"][g]) + 2 * float(np.linalg.slogdet(A)[1]))
        if problem is None and not error <= allowed:
            problem = f"covariance {g} is not that of the rows: whitened it differs from I by {error:.2g}"
        if problem is None and not volume <= TOLERANCE * len(A):
            problem = f"log-determinant {g} is off by {volume:.2g}"
    if problem is not None:
        return Verdict(claim.name, False, problem, worst, claim.kind)
    reason = f"formed again from the rows in two passes; whitened covariances are I within {worst:.1e}"
    return Verdict(claim.name, True, reason, worst, claim.kind)


def _priors_problem(w: dict[str, Any], n: Floats) -> str | None:
    priors = w["priors"]
    if not (np.all(priors >= 0) and abs(float(priors.sum()) - 1) <= 1e-12 * len(priors)):
        return "the priors are no probabilities"
    if not w["priors_given"] and not np.allclose(priors, n / n.sum(), rtol=1e-10, atol=0):
        return f"the priors are {n / n.sum()}, the certificate says {priors}"
    return None


def _means_problem(w: dict[str, Any], found: Recomputed) -> str | None:
    allowed = 1e-8 * found.spread + 1e-12 * np.abs(found.mean) + 1e-150  # squares of less are nothing
    off = np.argwhere(~(np.abs(found.mean - w["mean"]) <= allowed) & (found.n > 0)[:, None])
    if len(off):
        k, j = off[0]
        return f"the mean of column {j} in class {k} is {found.mean[k, j]!r}, the certificate says {w['mean'][k, j]!r}"
    return None


@check("discriminant_boundary")
@np.errstate(all="ignore")
def check_boundary(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """b̃ − wᵀx + xᵀMx against log densities of the recomputed normals on every row, and its sign against `predict`."""
    w = claim.witness
    found = recompute(w, rows)
    covariances = [found.covariance[g] + np.diag(w["added"][g]) for g in (0, len(found.covariance) - 1)]
    worst, wrong = 0.0, 0
    allowed = max(TOLERANCE, *(_rounding(C) for C in covariances))
    for block in rows.blocks():
        X = block.X.astype(np.float64)
        form, size = _form(X, w)
        logs = [_log_normal(X, found.mean[k], covariances[k]) for k in (0, 1)]
        odds = logs[0] - logs[1] + np.log(w["priors"][0]) - np.log(w["priors"][1])
        size += np.abs(logs[0]) + np.abs(logs[1])
        worst = float(np.maximum(worst, (np.abs(form - 2 * odds) / size).max()))
        first = np.asarray(predict(block.X)) == w["classes"][0]
        wrong += int(np.sum((first != (form > 0)) & (np.abs(form) > allowed * size)))
    if wrong or not worst <= allowed:
        reason = f"the form differs from twice the log-odds by {worst:.2g} of its terms; {wrong} rows on the wrong side"
        return Verdict(claim.name, False, reason, worst, claim.kind)
    reason = f"equals twice the log-odds on every row within {worst:.1e} of its terms, and its sign is the prediction"
    return Verdict(claim.name, True, reason, worst, claim.kind)


def _form(X: Floats, w: dict[str, Any]) -> tuple[Floats, Floats]:
    """b − wᵀx + xᵀMx, and the sum of its terms' magnitudes, to which rounding is proportional."""
    linear, quadratic = X @ w["w"], ((X @ w["M"]) * X).sum(axis=1)
    size = 1 + abs(w["b"]) + np.abs(X) @ np.abs(w["w"]) + ((np.abs(X) @ np.abs(w["M"])) * np.abs(X)).sum(axis=1)
    return w["b"] - linear + quadratic, size


def _rounding(C: Floats) -> float:
    """How far rounding may put a Mahalanobis distance, as a share: some ε · tr R⁻¹ of the correlations R."""
    unit = np.sqrt(np.diag(C))
    values = np.linalg.eigvalsh(C / unit[:, None] / unit)
    return float((16 * EPS / np.maximum(values, EPS)).sum())


def _log_normal(X: Floats, mean: Floats, C: Floats) -> Floats:
    U = X - mean
    log_det = float(np.linalg.slogdet(C)[1])
    value: Floats = -0.5 * ((U * np.linalg.solve(C, U.T).T).sum(axis=1) + log_det)
    return value


@check("discriminant_singular")
@np.errstate(all="ignore")
def check_singular(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The rank of each covariance counted again, and no more added than lifts the smallest eigenvalue to the floor."""
    w = claim.witness
    found = recompute(w, rows)
    d = found.mean.shape[1]
    floor = max(float(w["tol"]) ** 2, 8 * d * EPS)
    ranks: Array = np.asarray(w["rank"])
    for g, mean in groups(w, found):
        tried = [units(found.covariance[g], mean, found.spread, edges) for edges in EDGES]
        reasons = [_singular_problem(g, found.covariance[g], unit, floor, w) for unit in tried]
        if None not in reasons:
            return Verdict(claim.name, False, str(reasons[0]), kind=claim.kind)
    return Verdict(claim.name, True, f"ranks {ranks[:10].tolist()} of {d} counted again", claim.value, claim.kind)


def _singular_problem(g: int, C: Floats, unit: Floats, floor: float, w: dict[str, Any]) -> str | None:
    """Whether covariance g has another rank than stated, or more was added than cures it, in these units of its columns."""
    ranks, d, added = np.asarray(w["rank"]), len(C), w["added"][g] / (unit * unit)
    cured = added.any() == (ranks[g] < d) and np.all(added >= 0) and np.all(added <= 1.01 * floor + 64 * d * EPS)
    problem = rank_problem(g, C / np.outer(unit, unit), floor, ranks)
    return problem or (None if cured else f"what was added to covariance {g} is not the least ridge that cures it")


def rank_problem(g: int, R: Floats, floor: float, ranks: Array) -> str | None:
    """Whether covariance g, in its columns' own units, has another rank than stated; values near the floor may count or not."""
    values = np.linalg.svd(R, compute_uv=False)
    surely, perhaps = _near_zero(floor, len(R))
    least, most = int((values > surely).sum()), int((values > perhaps).sum())
    good = least <= ranks[g] <= most
    return None if good else f"covariance {g} has rank {least}, the certificate says {ranks[g]}"


def _near_zero(floor: float, d: int) -> tuple[float, float]:
    """Above which an eigenvalue of correlations is above the floor whatever rounding did to it, and above which it may be."""
    return 2 * floor + 64 * d * EPS, floor / 2 - 64 * d * EPS


@check("discriminant_pooled")
@np.errstate(all="ignore")
def check_pooled(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Ranks, the ridge of the common covariance and the leave-one-out errors of all shares, found again from the rows."""
    w = claim.witness
    found = recompute({key: part for key, part in w.items() if key != "pooled_share"}, rows)
    problem = _pooled_rank_problem(w, found) or _ridge_problem(w, found) or _share_problem(w, found, rows)
    if problem is not None:
        return Verdict(claim.name, False, problem, kind=claim.kind)
    ranks = np.asarray(w["rank"])[:10].tolist()
    reason = f"ranks {ranks} of {found.mean.shape[1]} counted again; the share {w['pooled_share']:.3g} is the one due"
    return Verdict(claim.name, True, reason, claim.value, claim.kind)


def _floor(w: dict[str, Any], d: int) -> float:
    """What counts as zero of the eigenvalues of correlations."""
    return max(float(w["tol"]) ** 2, 8 * d * EPS)


def _pooled_rank_problem(w: dict[str, Any], found: Recomputed) -> str | None:
    d, ranks = found.mean.shape[1], np.asarray(w["rank"])
    # a class that counts for nothing has a density too, which given priors may ask for
    for g in np.flatnonzero(found.raw > 0).tolist():
        tried = [units(found.covariance[g], found.mean[g], found.spread, edge) for edge in EDGES]
        problems = [rank_problem(g, found.covariance[g] / u[:, None] / u, _floor(w, d), ranks) for u in tried]
        if None not in problems:
            return problems[0]
    return "no class is singular: there was nothing to cure" if np.all(ranks[found.raw > 0] >= d) else None


def _ridge_problem(w: dict[str, Any], found: Recomputed) -> str | None:
    """All classes must have the ridge that lifts the least eigenvalue of the common correlations to twice the floor, and no other."""
    n = found.n
    common = np.einsum("k,kij->ij", n / n.sum(), found.covariance)
    tried = [units(common, np.abs(found.mean).max(axis=0), found.spread, edge) for edge in EDGES]
    good = any(_lifts(w, common, unit, n) for unit in tried)
    return None if good else "what was added is not the least ridge that cures the common covariance"


def _lifts(w: dict[str, Any], common: Floats, unit: Floats, n: Floats) -> bool:
    """Whether just what is due was added, in these units of the columns."""
    d, least = len(common), max(0.0, float(np.linalg.eigvalsh(common / unit[:, None] / unit)[0]))
    added = np.asarray(w["added"]) / unit / unit
    due, rounding = max(0.0, 2 * _floor(w, d) - least), 1e-2 * _floor(w, d) + 64 * d * EPS
    return bool(np.all(added >= 0) and np.all(np.abs(added[n > 0] - due) <= rounding))


def _share_problem(w: dict[str, Any], found: Recomputed, rows: CheckedRows) -> str | None:
    """The share must be that of least error; only where no errors are stated must it be 1."""
    stated, share = np.asarray(w["errors"], dtype=np.float64), float(w["pooled_share"])
    best = 0.25 ** int(np.argmin(stated)) if len(stated) else 1.0
    if share != best or len(stated) > SHARES:
        return f"the share due is {best:.3g}, the certificate says {share:.3g}"
    for i, error in enumerate(stated):
        low, high = _errors(w, found, rows, 0.25**i)
        if not low - TOLERANCE <= error <= high + TOLERANCE:
            return f"the leave-one-out error of the share {0.25**i:.3g} is {low:.4g}, the certificate says {error:.4g}"
    return _untried(w, found, 0.25 ** len(stated)) if 0 < len(stated) < SHARES else None


def _untried(w: dict[str, Any], found: Recomputed, share: float) -> str | None:
    """A share may be left out where it leaves some covariance singular."""
    C = _cured(w, found, share)
    root = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    least = float(np.linalg.eigvalsh(C / root[:, :, None] / root[:, None, :]).min())
    good = least <= _near_zero(_floor(w, C.shape[1]), C.shape[1])[0]
    return None if good else f"the share {share:.3g} was not tried, and leaves no covariance singular"


def _cured(w: dict[str, Any], found: Recomputed, share: float) -> Floats:
    out: Floats = towards_common(found.covariance, found.n, share) + np.diag(np.asarray(w["added"]).max(axis=0))
    return out


class Densities(NamedTuple):
    """Of one share: the columns' units (d,), inverses of the covariances in these (K, d, d), log-determinants (K,), weights behind them (K,),
    and how far rounding may put a product with an inverse, as a share."""

    share: float
    unit: Floats
    inverse: Floats
    log_det: Floats
    weight: Floats
    rounding: float


def _densities(w: dict[str, Any], found: Recomputed, share: float) -> Densities:
    C = _cured(w, found, share)
    unit = np.sqrt(np.diagonal(C, axis1=1, axis2=2).max(axis=0))
    R = C / unit[:, None] / unit
    weight = (1 - share) * found.n + share * found.n.sum()
    inverse = np.linalg.inv(R)
    rounding = 1e2 * EPS * float(np.trace(inverse, axis1=1, axis2=2).max())
    return Densities(share, unit, inverse, np.linalg.slogdet(R)[1], weight, max(LEAST, rounding))


def _errors(w: dict[str, Any], found: Recomputed, rows: CheckedRows, share: float) -> tuple[float, float]:
    """The share of the weight that is answered wrongly without the row itself: beyond doubt, and with the doubtful."""
    densities, wrong = _densities(w, found, share), np.zeros(2)
    for k, X, weight in pieces(rows, w["classes"]):
        for a in range(0, len(X), STEP):
            some = weight[a : a + STEP]
            margin, doubt = _margins(w, found, densities, k, X[a : a + STEP], some)
            cost = some * w["multipliers"][k]
            wrong += [cost @ (margin < -doubt), cost @ ~(margin > doubt)]
    low, high = wrong / found.n.sum()
    return float(low), float(high)


def _margins(
    w: dict[str, Any], found: Recomputed, of: Densities, k: int, X: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """By how much a row's own class k is ahead of all others when one repetition of the row is left out, and what rounding may move that by."""
    out = np.minimum(weight, 1.0)
    rest = (found.raw[k] - out) / found.raw[k]
    delta = (X - found.mean[k]) / of.unit
    removed = out * w["multipliers"][k] / rest * _kept(w, found, k)
    scores, doubt = np.empty((len(X), len(found.n))), np.zeros(len(X))
    for c in range(len(found.n)):
        part = 1.0 if c == k else of.share
        v = delta / rest[:, None] if c == k else (X - found.mean[c]) / of.unit
        distance, volume, left = _without(w["covariance"], of.inverse[c], v, delta, part * removed / of.weight[c])
        shrink = 1 - part * out * w["multipliers"][k] / of.weight[c]
        prior = w["priors"][c] if w["priors_given"] else found.n[c] * (rest if c == k else 1.0)
        volume = volume + of.log_det[c] - X.shape[1] * np.log(shrink)
        scores[:, c] = np.log(prior) - 0.5 * (shrink * distance + volume)
        doubt += np.where(left > of.rounding, 1e2 * of.rounding * (1 + np.abs(distance) + np.abs(volume)), np.inf)
    last = ~(rest > EPS)  # of its class: nothing is left that could know it
    margin = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1, initial=-np.inf)
    return np.where(last, -np.inf, margin), np.where(last, 0.0, doubt)


def _kept(w: dict[str, Any], found: Recomputed, k: int) -> float:
    """How much of a row's δδᵀ is in n_k Σ_k."""
    free = found.n[k] / (found.n[k] - 1) if w["unbiased"] and found.n[k] > 1 else 1.0
    return float((1 - found.amounts[k]) * (1 - w["reg_param"]) * free)


def _without(structure: str, inverse: Floats, v: Floats, delta: Floats, t: Floats) -> tuple[Floats, Floats, Floats]:
    """vᵀ(Σ − t δδᵀ)⁻¹v, log|Σ − t δδᵀ| − log|Σ|, and how much of Σ is left along δ, for each row; δδᵀ in the structure of Σ."""
    if structure == "full":
        G = delta @ inverse
        left = 1 - t * (G * delta).sum(axis=1)
        distance = ((v @ inverse) * v).sum(axis=1) + t * (G * v).sum(axis=1) ** 2 / left
        return distance, np.log(left), left
    squares = delta * delta if structure == "diagonal" else (delta * delta).mean(axis=1, keepdims=True)
    left = 1 - t[:, None] * squares * np.diag(inverse)
    return (v * v * np.diag(inverse) / left).sum(axis=1), (np.log(left) + 0 * delta).sum(axis=1), left.min(axis=1)
