"""What the witness of a claim about trees says, and the targets and weights of the rows that it speaks of.

Weights are counted in whole numbers of a power of two so small that all of them together just fit 62 bits, as trees are grown:
sums over rows are then exact in whatever order they are taken, and a row of less than half a unit counts as absent.

Rows walk down a tree all a step at a time. Which rows a tree of a forest saw is drawn again: splitmix64 (Steele, Lea and Flood 2014) of
(seed, tree, number of the draw). Columns become codes: ranks of their values, or numbers of their quantile bins, both found again from the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim
from assay.certify.rows import GOLDEN, WORD, Array, CheckedRows, Floats, between_0_and_1, codes_of, mixed, row_keys

LARGEST_TOLERANCE = 1e-6
KEPT = 50_000_000  # numbers of rows that are kept from pass to pass
BITS = 61
LEAST = -1074  # exponent of the least power of two
OF_CLASSES = ("gini", "entropy", "log_loss")
OF_NUMBERS = ("squared_error", "absolute_error", "poisson")
SAMPLE = 50_000  # rows of which quantiles are taken
GONE = 255  # the code of a missing category


class StatedTree(NamedTuple):
    """A tree in preorder, one entry a node: column (−1: leaf), threshold, number of the set of categories (−1: by threshold), whether
    missing values go to the left, the children, and the number of the leaf; of the leaves their rows of the table (L, C)."""

    column: Array
    cut: Floats
    by_set: Array
    missing_left: Array
    right: Array
    number: Array
    table: Floats

    @property
    def splits(self) -> Array:
        """The nodes that are no leaves."""
        return np.flatnonzero(self.column >= 0)

    @property
    def leaves(self) -> Array:
        """The nodes that are leaves."""
        return np.flatnonzero(self.column < 0)


def ends_of(is_leaf: Array) -> Array:
    """Of each node the first one behind its subtree. With +1 a split and −1 a leaf, a subtree ends where the running sum first falls
    below what it was before the subtree."""
    n = len(is_leaf)
    at = np.arange(n)
    run = np.cumsum(np.where(is_leaf, -1, 1))
    before = run - np.where(is_leaf, -1, 1)
    falls = np.sort((run[is_leaf] + n) * (n + 1) + at[is_leaf])
    found = np.searchsorted(falls, (before - 1 + n) * (n + 1) + at)
    if np.any(found >= len(falls)) or np.any(falls[found] // (n + 1) != before - 1 + n):
        raise ValueError("the nodes are no trees: a split lacks its children")
    return falls[found] % (n + 1) + 1


class Stated(NamedTuple):
    """Trees and how they came about, as the witness says; levels (d,): categories of each column, first: where its codes begin. Of several
    targets, `target` is the one that is looked at, and `all_classes` has the classes of each."""

    trees: list[StatedTree]
    sets: Array
    levels: Array
    first: Array
    code: Array
    classes: list[Any] | None
    class_weight: Any
    criterion: str
    trend: Array
    tolerance: float
    target: int | None = None
    all_classes: list[Any] | None = None

    @property
    def K(self) -> int:
        """Classes; 0: the target is a number."""
        return 0 if self.classes is None else len(self.classes)


def stated_in(claim: Claim, rows: CheckedRows) -> Stated:
    """What the witness says, refused where it cannot be."""
    t, d = claim.witness, rows.n_columns
    classes, criterion, tolerance = t["classes"], str(t["criterion"]), float(t["tolerance"])
    if criterion not in (OF_NUMBERS if classes is None else OF_CLASSES):
        raise ValueError(f"a criterion {criterion!r} that cannot be")
    if not 0 < tolerance <= LARGEST_TOLERANCE:
        raise ValueError(f"a tolerance of {tolerance:g} proves nothing")
    targets = int(t.get("targets", 1))
    if targets > 1 and classes is not None and (len(classes) != targets or not all(classes)):
        raise ValueError(f"classes that are not those of {targets} targets")
    width = targets + 1 if classes is None else len(classes) if targets == 1 else sum(len(own) for own in classes)
    return stated_trees(t, d, width, criterion, tolerance)


def columns_of_targets(claim: Claim) -> list[list[int]]:
    """Of each target the columns of the table that tell of it."""
    targets, classes = int(claim.witness.get("targets", 1)), claim.witness["classes"]
    if classes is None:
        return [[t, targets] for t in range(targets)]
    ends = np.cumsum([len(classes)] if targets == 1 else [len(own) for own in classes]).tolist()
    return [list(range(a, b)) for a, b in zip([0, *ends], ends)]


def stated_each(claim: Claim, rows: CheckedRows) -> list[Stated]:
    """What the witness says, of each target as if it were alone."""
    whole = stated_in(claim, rows)
    if int(claim.witness.get("targets", 1)) < 2:
        return [whole]
    found = []
    for t, own in enumerate(columns_of_targets(claim)):
        trees = [tree._replace(table=tree.table[:, own]) for tree in whole.trees]
        classes = None if whole.classes is None else whole.classes[t]
        found.append(whole._replace(trees=trees, classes=classes, target=t, all_classes=whole.classes))
    return found


def stated_trees(t: dict[str, Any], d: int, width: int, criterion: str, tolerance: float) -> Stated:
    """The trees, categories and trends of a witness, refused where they cannot be; width: numbers that a leaf holds."""
    levels, trend = (
        np.zeros(d, np.int64) if t[key] is None else np.asarray(t[key], np.int64) for key in ("levels", "trend")
    )
    code = np.zeros(0, np.int64) if t["category_code"] is None else np.asarray(t["category_code"], np.int64)
    if (
        levels.shape != (d,)
        or trend.shape != (d,)
        or levels.sum() != len(code)
        or np.any(levels < 0)
        or np.any(code < 0)
    ):
        raise ValueError("categories or trends that do not fit the columns")
    first = np.concatenate([[0], np.cumsum(levels)])[:-1]
    sets = np.zeros((0, 4), np.uint64) if t["sets"] is None else np.asarray(t["sets"], np.uint64)
    trees = trees_in(t, d, width, len(sets))
    return Stated(trees, sets, levels, first, code, t["classes"], t["class_weight"], criterion, trend, tolerance)


def trees_in(t: dict[str, Any], d: int, width: int, sets: int) -> list[StatedTree]:
    """The trees of a witness, refused where they cannot be; width: numbers that a leaf holds."""
    feature, cut, missing = (np.asarray(t[key]) for key in ("feature", "cut", "missing_left"))
    leaf, nodes, table = (
        np.asarray(t["leaf"]).astype(np.int64),
        np.asarray(t["nodes"]),
        np.asarray(t["table"], np.float64),
    )
    is_leaf = feature == -1
    column = np.where(feature < -1, -2 - feature, feature).astype(np.int64)
    splits = int((~is_leaf).sum())
    if (
        cut.shape != (splits,)
        or missing.shape != (splits,)
        or len(leaf) != is_leaf.sum()
        or int(nodes.sum()) != len(feature)
    ):
        raise ValueError("the parts of the trees do not fit together")
    if table.ndim != 2 or table.shape[1] != width or leaf.max(initial=0) >= len(table) or column.max(initial=0) >= d:
        raise ValueError("leaves or columns of the trees that are not there")
    wide = np.full(len(feature), np.nan)
    wide[~is_leaf] = cut
    by_set = np.where(feature < -1, wide, -1).astype(np.int64)
    if np.isnan(cut).any() or by_set.max(initial=-1) >= sets or np.any(by_set[feature < -1] != wide[feature < -1]):
        raise ValueError("thresholds of the trees that cannot be")
    to_left = np.zeros(len(feature), bool)
    to_left[~is_leaf] = missing != 0
    ends, stops = ends_of(is_leaf), np.cumsum(nodes)
    if np.any(nodes < 1) or not np.array_equal(ends[stops - nodes], stops):
        raise ValueError("the trees do not have the nodes that the witness tells of")
    leaves = np.concatenate([[0], np.cumsum(is_leaf)])
    right = np.where(is_leaf, -1, ends[np.minimum(np.arange(len(feature)) + 1, len(feature) - 1)])
    made = []
    for a, b in zip((stops - nodes).tolist(), stops.tolist()):
        own = slice(a, b)
        number = np.cumsum(is_leaf[own]) - 1
        rows = table[leaf[leaves[a] : leaves[b]]]
        made.append(StatedTree(column[own], wide[own], by_set[own], to_left[own], right[own] - a, number, rows))
    return made


def class_factors(class_weight: Any, classes: list[Any], counts: Floats) -> Floats:
    """The factor by which each class counts; "balanced": all classes with rows weigh the same, and all together as before.

    A file keeps the labels of `class_weight` as text.
    """
    if class_weight == "balanced":
        there = counts > 0
        return np.where(there, counts.sum() / there.sum() / np.where(there, counts, 1.0), 1.0)
    factors = np.ones(len(classes))
    for name, factor in class_weight.items():
        named = [k for k, label in enumerate(classes) if name == label] or [
            k for k, label in enumerate(classes) if name in _texts(label)
        ]
        if not named:
            raise ValueError(f"there is no class {name!r} to weigh")
        factors[named[0]] = factor
    return factors


def _row_factors(stated: Stated, every: Array, w: Floats | None) -> Floats:
    """The factor of each row by its class, or by those of all its targets."""
    several = stated.target is not None and stated.all_classes is not None
    each: Any = stated.all_classes if several else [stated.classes]
    asked = stated.class_weight if isinstance(stated.class_weight, list | tuple) else [stated.class_weight] * len(each)
    if len(asked) != len(each):
        raise ValueError(f"{len(asked)} class weights of {len(each)} targets")
    factors = np.ones(len(every))
    for weight, classes, y in zip(asked, each, every.T if several else [every]):
        codes = codes_of(y, classes)
        counts = np.bincount(codes, weights=w, minlength=len(classes)).astype(np.float64)
        factors *= class_factors(weight, classes, counts)[codes]
    return factors


def _texts(label: Any) -> tuple[str, ...]:
    """How a file may write a label."""
    whole = (str(int(label)),) if isinstance(label, float) and label.is_integer() else ()
    return (str(label), str(label).lower(), *whole) if isinstance(label, bool) else (str(label), *whole)


class TreeRows:
    """The rows that a claim speaks of: y (n,) (classes as codes, numbers less a pivot amid them), whole weights (n,) of `unit` each, those
    given (None: one each) without the classes' factors, and their columns in blocks; top: the greatest number but for its sign.

    `draws`: how many rows a tree sees, by which the unit of the weights is chosen.
    """

    def __init__(self, stated: Stated, rows: CheckedRows, draws: int | None) -> None:
        self._rows = rows
        pieces = list(rows.targets())
        if not pieces or any(p.y is None for p in pieces):
            raise ValueError("there are no rows with a target")
        every: Any = np.concatenate([p.y for p in pieces if p.y is not None])
        y: Any = every if stated.target is None else every[:, stated.target]
        if y.ndim != 1:
            raise ValueError(f"targets of shape {y.shape} where one a row is due")
        w = np.concatenate([p.w for p in pieces if p.w is not None]) if pieces[0].w is not None else None
        self.n, self.given = len(y), w
        self.pivot, self.top = 0.0, 1.0
        if stated.classes is None:
            self.y: Array = y.astype(np.float64)
        else:
            self.y = codes_of(y, stated.classes)
            if stated.class_weight is not None:
                factor = _row_factors(stated, every, w)
                w = factor if w is None else w * factor
        self.weighted = w is not None
        self.weights: Floats = np.ones(self.n) if w is None else w
        self.unit = 1.0 if w is None else _unit(float(w.max()), self.n if draws is None else draws)
        self.whole = np.rint(self.weights / self.unit).astype(np.int64)
        self.counted = np.flatnonzero(self.weights > 0)
        self.heaviest = float(self.weights.max())
        if not self.whole.any():
            raise ValueError("there are no rows of positive weight")
        if stated.classes is None:
            there = self.y[self.whole > 0]
            self.top = float(np.abs(there).max())
            self.pivot = 0.0 if stated.criterion == "poisson" else 0.5 * float(there.min()) + 0.5 * float(there.max())
            self.y = self.y - self.pivot

    @cached_property
    def _kept(self) -> list[tuple[int, Array]] | None:
        if self.n * self._rows.n_columns > KEPT:
            return None
        return [(b.start, b.X) for b in self._rows.blocks()]

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """(number of the first row, X) block by block; kept where they are not too many."""
        if self._kept is not None:
            yield from self._kept
            return
        for block in self._rows.blocks():
            yield block.start, block.X

    @cached_property
    def least_value(self) -> float:
        """From which on a whole weight times a number that is not negative is surely counted as more than nothing: weighted numbers are
        counted in whole units too, of about the greatest number for the least weight."""
        return 2.0 * self.top * (1.0 if self.weighted else ldexp(1.0, self.n.bit_length() + 1 - BITS))

    @cached_property
    def scale(self) -> float:
        """How far the targets of the rows that count are apart; 1 for classes."""
        if self.y.dtype.kind == "i":
            return 1.0
        there = self.y[self.whole > 0]
        return float(there.max() - there.min())


def _unit(greatest: float, draws: int) -> float:
    return ldexp(1.0, max(frexp(greatest)[1] + int(draws).bit_length() - BITS, LEAST))


def category_codes(stated: Stated, x: Floats, column: Array) -> tuple[Array, Array]:
    """The codes of categories x of their columns, and which of them are known."""
    with np.errstate(invalid="ignore"):
        known = (x >= 0) & (x < stated.levels[column])
    at = stated.first[column] + np.where(known, x, 0).astype(np.int64)
    return stated.code[np.minimum(at, len(stated.code) - 1)], known


def goes_left(stated: Stated, tree: StatedTree, X: Array, rows: Array, node: Array) -> Array:
    """Whether each of the rows goes to the left at its node, none of which is a leaf."""
    column = tree.column[node]
    x = X[rows, column].astype(np.float64)
    left: Array = (x <= tree.cut[node]) | (np.isnan(x) & tree.missing_left[node])
    sets = np.flatnonzero(tree.by_set[node] >= 0)
    if len(sets):
        at = node[sets]
        code, known = category_codes(stated, x[sets], column[sets])
        word = stated.sets[tree.by_set[at], code >> 6] >> (code & 63).astype(np.uint64)
        left[sets] = np.where(known, (word & np.uint64(1)) != 0, tree.missing_left[at])
    return left


def step(stated: Stated, tree: StatedTree, X: Array, rows: Array, node: Array) -> Array:
    """The nodes that rows of X (numbers `rows`) come to from their nodes."""
    return np.where(goes_left(stated, tree, X, rows, node), node + 1, tree.right[node])


def leaves_of(stated: Stated, tree: StatedTree, seen: TreeRows, wanted: Array) -> Array:
    """The number of the leaf that each of the wanted rows (numbers, in order) reaches."""
    out = np.empty(len(wanted), dtype=np.int64)
    for start, X in seen.blocks():
        a, b = np.searchsorted(wanted, [start, start + len(X)])
        out[a:b] = tree.number[down(stated, tree, X, wanted[a:b] - start)]
    return out


def down(stated: Stated, tree: StatedTree, X: Array, rows: Array) -> Array:
    """The leaf where each of the rows ends."""
    end = np.zeros(len(rows), dtype=np.int64)
    going = np.arange(len(rows)) if tree.column[0] >= 0 else np.zeros(0, np.int64)
    at = np.zeros(len(going), dtype=np.int64)
    while len(going):
        at = step(stated, tree, X, rows[going], at)
        on = tree.column[at] >= 0
        end[going[~on]] = at[~on]
        going, at = going[on], at[on]
    return end


def levels_of(tree: StatedTree) -> list[Array]:
    """The nodes of each depth, from the root on."""
    found, here = [], np.zeros(1, dtype=np.int64)
    while len(here):
        found.append(here)
        split = here[tree.column[here] >= 0]
        here = np.concatenate([split + 1, tree.right[split]])
    return found


def up(tree: StatedTree, levels: list[Array], of_leaves: Array) -> Array:
    """Sums of all nodes (N, …) from those of the leaves (L, …)."""
    sums = np.zeros((len(tree.column), *of_leaves.shape[1:]), dtype=of_leaves.dtype)
    sums[tree.leaves] = of_leaves
    for here in reversed(levels):
        split = here[tree.column[here] >= 0]
        sums[split] = sums[split + 1] + sums[tree.right[split]]
    return sums


TREE = 0xD1342543DE82EF95
AT_ONCE = 1 << 22  # draws
MOST_DRAWN = 1 << 15  # of a row on average


def _words(seed: int, tree: int, first: int, count: int) -> Array:
    """The words of the draws first … first + count − 1 of a tree."""
    start = np.array([(seed * int(GOLDEN) + (tree + 1) * TREE) & WORD], dtype=np.uint64)
    with np.errstate(over="ignore"):
        numbers = np.arange(first + 1, first + count + 1, dtype=np.uint64)
        return mixed(mixed(start) + numbers * GOLDEN)


def _below(words: Array, n: Array | int) -> Array:
    """Numbers 0 … n − 1 of random words."""
    with np.errstate(over="ignore"):
        return (((words >> np.uint64(32)) * np.asarray(n, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)


def times_drawn(seed: int, tree: int, n: int, draws: int | None, replace: bool, counted: Array | None = None) -> Array:
    """How often each of n rows was drawn, of the `counted` ones (None: of all); once each where nothing is drawn (None)."""
    if draws is None:
        return np.ones(n, dtype=np.int64)
    if draws > MOST_DRAWN * n:  # no fit draws so many, and each costs time
        raise ValueError(f"{draws} rows cannot have been drawn from {n}")
    if counted is not None and len(counted) < n:
        times = np.zeros(n, dtype=np.int64)
        times[counted] = times_drawn(seed, tree, len(counted), draws, replace)
        return times
    times = np.zeros(n, dtype=np.int64)
    if replace:
        for a in range(0, draws, AT_ONCE):
            times += np.bincount(_below(_words(seed, tree, a, min(AT_ONCE, draws - a)), n), minlength=n)
        return times
    left, drawn = draws, []
    for i, number in enumerate(_below(_words(seed, tree, 0, n), np.arange(n, 0, -1)).tolist()):
        if number < left:
            drawn.append(i)
            left -= 1
    times[drawn] = 1
    return times


class Columns(NamedTuple):
    """Of each column its codes (n,), the code of a missing value, the rows in the order of their codes, and whether it holds categories."""

    codes: list[Array]
    missing: list[int]
    order: list[Array]
    categories: Array


def columns_of(stated: Stated, seen: TreeRows, rows: CheckedRows, bins: Any) -> Columns:
    """All columns; bins: None for ranks, else how many quantile bins there are at most."""
    d, categories = rows.n_columns, stated.levels > 0
    if bins is not None and not 2 <= int(bins) <= GONE:
        raise ValueError(f"{bins} bins that cannot be")
    edges = None if bins is None else _all_edges(stated, seen, int(bins))
    codes: list[Array] = [
        np.empty(seen.n, dtype=np.uint8 if categories[j] or bins is not None else np.int32) for j in range(d)
    ]
    missing = [GONE if categories[j] else -1 if edges is None else len(edges[j]) + 1 for j in range(d)]
    if edges is None:
        X = np.concatenate([X for _, X in seen.blocks()])
        for j in np.flatnonzero(~categories).tolist():
            values, codes[j] = np.unique(X[:, j], return_inverse=True)
            missing[j] = len(values) - 1 if len(values) and np.isnan(values[-1]) else -1
    for start, X in seen.blocks() if edges is not None or categories.any() else ():
        for j in range(d):
            x, own = X[:, j].astype(np.float64), slice(start, start + len(X))
            if categories[j]:
                code, known = category_codes(stated, x, np.full(len(x), j))
                codes[j][own] = np.where(known, code, GONE)
            elif edges is not None:
                codes[j][own] = np.where(np.isnan(x), missing[j], np.searchsorted(edges[j], x))
    return Columns(codes, missing, [np.argsort(c, kind="stable") for c in codes], categories)


def _all_edges(stated: Stated, seen: TreeRows, bins: int) -> list[Floats]:
    """The edges of each column's bins, from a sample of the rows that is drawn again: one of every n / SAMPLE."""
    picked = np.arange(seen.n)
    if seen.n > SAMPLE:
        j = np.arange(SAMPLE)
        picked = ((j + between_0_and_1(row_keys(SAMPLE, 0))) * (seen.n / SAMPLE)).astype(np.int64)
    if seen.given is not None:
        picked = picked[seen.given[picked] > 0]
    parts = []
    for start, X in seen.blocks():
        a, b = np.searchsorted(picked, [start, start + len(X)])
        parts.append(X[picked[a:b] - start])
    some = np.concatenate(parts).astype(np.float64)
    return [
        np.zeros(0) if stated.levels[j] else edges_of(np.sort(some[~np.isnan(some[:, j]), j]), bins)
        for j in range(some.shape[1])
    ]


def edges_of(x: Floats, bins: int) -> Floats:
    """Halfway between neighbouring values where these are few, else between those at the ends of the quantiles' equal values."""
    after = np.flatnonzero(x[1:] > x[:-1])
    if len(after) >= bins:
        ends = [int(np.searchsorted(x, x[k * len(x) // bins - 1], side="right")) for k in range(1, bins)]
        after = np.array(sorted({e - 1 for e in ends if e < len(x)}), dtype=np.int64)
    low, high = x[after], x[after + 1]
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)
