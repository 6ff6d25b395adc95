"""Value, slope and curvature of the losses, written from their definitions; the constants that make them least."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.rows import Array, Floats

OF_LOGS = ("poisson", "gamma", "tweedie")
OF_QUANTILES = ("absolute_error", "quantile")
LEAST_SHARE = 1e-12
TIE = 1e-12  # the share of the weight by which a quantile may fall short
EPS = float(np.finfo(np.float64).eps)


def derivatives(t: dict[str, Any], y: Floats, F: Floats) -> tuple[Floats, Floats, Floats]:
    """(value (n,), slopes (K, n), curvatures (K, n)) at the scores F (K, n)."""
    loss, one = t["loss"], np.ones((1, len(y)))
    f = F[0]
    if loss == "log_loss":
        return _log_loss(y, F)
    if loss == "exponential":
        e = np.exp(np.where(y == 1, -f, f))
        return e, np.where(y == 1, -e, e)[None], e[None]
    if loss == "squared_error":
        return (f - y) ** 2 / 2, (f - y)[None], one
    if loss in OF_QUANTILES:
        q, size = (0.5, 2.0) if loss == "absolute_error" else (float(t["quantile"]), 1.0)
        above = y > f
        value = size * np.where(above, q * (y - f), (1 - q) * (f - y))
        return value, size * np.where(above, -q, np.where(y == f, 0.0, 1 - q))[None], one
    if loss == "huber":
        delta = float(t["delta"])
        far = np.abs(f - y)
        value = np.where(far <= delta, far**2 / 2, delta * far - delta**2 / 2)
        return value, np.where(far <= delta, f - y, np.sign(f - y) * delta)[None], one
    e = np.exp(f)
    there = y > 0
    x = f - np.log(np.where(there, y, 1.0))  # how far from the best score, the log of the target
    apart = np.expm1(x.astype(np.longdouble))
    if loss == "poisson":
        return _plain(np.where(there, y * above_tangent(x), e)), _plain(np.where(there, y * apart, e))[None], e[None]
    if loss == "gamma":
        return _plain(above_tangent(-x)), _plain(-np.expm1(-x.astype(np.longdouble)))[None], (y / e)[None]
    if loss == "tweedie":
        p = float(t["power"])
        a, b = y * e ** (1 - p), e ** (2 - p)
        own = np.where(there, y, 1.0) ** (2 - p) * (
            above_tangent((2 - p) * x) / (2 - p) + above_tangent((1 - p) * x) / (p - 1)
        )
        return (
            _plain(np.where(there, own, b / (2 - p))),
            _plain(np.where(there, a * apart, b))[None],
            ((2 - p) * b - (1 - p) * a)[None],
        )
    raise ValueError(f"a loss {loss!r} that is not known")


def _plain(wide: Any) -> Floats:
    return np.asarray(wide, dtype=np.float64)


def above_tangent(x: Floats) -> Any:
    """e^x − (1 + x), in extended precision, and by two terms of its series where even that would cancel."""
    wide = x.astype(np.longdouble)
    close = np.abs(x) < 1e-6
    return np.where(close, wide**2 / 2 + wide**3 / 6, np.expm1(wide) - wide)


def _log_loss(y: Floats, F: Floats) -> tuple[Floats, Floats, Floats]:
    if len(F) == 1:
        p = 1 / (1 + np.exp(-F[0]))
        value = np.logaddexp(0.0, np.where(y == 1, -F[0], F[0]))
        small = 1 / (1 + np.exp(np.abs(F[0])))  # p or 1 − p, whichever is less
        return value, (p - y)[None], (small * (1 - small))[None]
    K = len(F)
    G = F - F.max(axis=0)
    total = np.exp(G).sum(axis=0)
    P = np.exp(G) / total
    own = y.astype(np.int64), np.arange(len(y))
    indicator = np.zeros_like(P)
    indicator[own] = 1.0
    return np.log(total) - G[own], P - indicator, K / (K - 1) * P * (1 - P)


def quantile_problem(values: Floats, w: Floats, q: float, stated: float) -> bool:
    """Whether a number is not the least of the weighted values up to which the share q of the weight lies.

    A share counts as reached from q (1 − 1e-12) on; sums of weights that are no whole numbers may be rounded more than that."""
    near = 1e-9 * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    below, upto = float(w[values < stated - near].sum()), float(w[values <= stated + near].sum())
    share = q * float(w.sum())
    rounding = 4 * EPS if np.array_equal(w, np.rint(w)) else len(w) * EPS
    enough_below = below > 0 and below >= share * (1 - TIE + 2 * rounding)
    return enough_below or upto < share * (1 - 1e-9) or not bool((np.abs(values - stated) <= near).any())


def start_problem(t: dict[str, Any], y: Floats, w: Floats, start: Floats, K: int) -> bool:
    """Whether the stated constants are not the best ones for these rows."""
    loss = t["loss"]
    if loss in OF_QUANTILES or loss == "huber":
        q = float(t["quantile"]) if loss == "quantile" else 0.5
        if loss == "huber":
            far = np.abs(y - start[0])
            due = float(far.max()) or 1.0
            if float(t["delta"]) != due and quantile_problem(far, w, float(t["alpha"]), float(t["delta"])):
                return True
        return quantile_problem(y, w, q, float(start[0]))
    if loss == "log_loss" and K > 2:
        share = np.log(np.maximum(np.bincount(y.astype(np.int64), w, K) / w.sum(), LEAST_SHARE))
        return not np.allclose(start, share - share.mean(), rtol=1e-9, atol=1e-9)
    mean = float(np.average(y, weights=w))
    if loss == "squared_error":
        return bool(abs(start[0] - mean) > 1e-9 * max(float(np.abs(y).max()), 1e-300))
    if loss in OF_LOGS:
        return bool(abs(start[0] - np.log(mean)) > 1e-9 * (1 + abs(np.log(mean))))
    share_of_one = min(max(mean, LEAST_SHARE), 1 - LEAST_SHARE)
    odds = np.log(share_of_one / (1 - share_of_one)) * (0.5 if loss == "exponential" else 1.0)
    return bool(abs(start[0] - odds) > 1e-6 * (1 + abs(odds)))


def sample_of(
    t: dict[str, Any], stage: int, d: int, w: Floats, slope: Floats, curvature: Floats
) -> tuple[Floats, Array]:
    """(weights of the rows that a stage saw, its columns), drawn again by (seed, stage) and, where it says so, by the slopes before it."""
    from assay.certify.rows import between_0_and_1, keys, row_keys

    rows, columns = float(t["subsample"]), float(t["colsample"])
    key = int(keys(np.array([stage], np.uint64), int(t["seed"]))[0] >> np.uint64(2))
    chosen = np.arange(d)
    if columns < 1:
        drawn = keys(np.arange(d, dtype=np.uint64), key + 1)
        chosen = np.sort(np.argsort(drawn, kind="stable")[: max(1, round(columns * d))])
    if rows < 1:
        counted = np.flatnonzero(w > 0)
        chance = np.full(len(counted), rows)
        if t.get("by_gradient"):
            chance = chances_of(w[counted] * slope[:, counted], w[counted] * curvature[:, counted], rows)
        there = between_0_and_1(row_keys(len(counted), key)) < chance
        if there.any():
            part = np.zeros(len(w))
            part[counted[there]] = w[counted[there]] / (chance[there] if t.get("by_gradient") else 1.0)
            w = part
    return w, chosen


def chances_of(g: Floats, h: Floats, share: float) -> Floats:
    """min(1, a / mu) that add up to the share of the rows, a² = Σ g² + (Σ|g| / Σ h)² Σ h²: with the k largest surely drawn, mu is what the others add up to
    over what is left, and k the first for which the next one is below that."""
    step = float(np.abs(g).sum() / max(h.sum(), 1e-300))
    a = np.sqrt(np.sum(g**2, axis=0) + step**2 * np.sum(h**2, axis=0))
    down = np.sort(a)[::-1]
    wanted, left = share * len(a), np.append(np.cumsum(down[::-1])[::-1], 0.0)
    for k in range(len(a)):
        mu = left[k] / (wanted - k)
        if down[k] < mu or wanted - k <= 1 or not mu > 0:
            break
    found: Floats = np.minimum(a / max(mu, 1e-300), 1.0)
    return found
