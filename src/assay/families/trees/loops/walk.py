"""Walking down trees. A node is two words: its threshold (or set, or leaf), and right child · 2³² | feature · 2⁸ | flags.

The left child follows its parent. Flags: 1 missing values go to the left, 2 by categories, 4 leaf.

What the trees of a forest say together: the mean loss of their answers, quantiles of targets, and what each column adds.
For the loss, and how much it varies from row to row, rows are taken 1024 at a time, so that little is lost to rounding. What a row needs
cannot be guessed, so there are no branches: 22 → 4 ns a row of two classes.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.memory import data_pointer, keep_alive

HALF = np.uint64(32)
EIGHT = np.uint64(8)
FEATURE = np.uint64(0xFFFFFF)
LEFT, SETS, LEAF = np.uint64(1), np.uint64(2), np.uint64(4)
AT_ONCE = 8
ROWS = 4096  # that stay near while all trees go over them
ROWS_OF_ANSWERS = 1024


@jit(inline="always")
def _goes_left(x, cut, link, sets, levels, category, category_first):  # type: ignore[no-untyped-def]
    if link & SETS:
        f = np.int64((link >> EIGHT) & FEATURE)
        if x == x and x >= 0.0 and x < levels[f]:
            c = np.int64(category[category_first[f] + np.int64(x)])
            return (sets[np.int64(cut), c >> 6] >> np.uint64(c & 63)) & np.uint64(1) != 0
        return (link & LEFT) != 0
    return x <= cut or (x != x and (link & LEFT) != 0)


@jit
def walk_all(X, words, cuts, root, sets, levels, category, category_first, leaves):  # type: ignore[no-untyped-def]
    """leaves[i]: the leaf's number in the table for every row of X, with categories and missing values."""
    for i in range(X.shape[0]):
        at = root
        while True:
            link = words[at, 1]
            if link & LEAF:
                break
            x = np.float64(X[i, np.int64((link >> EIGHT) & FEATURE)])
            left = _goes_left(x, cuts[at, 0], link, sets, levels, category, category_first)
            at = at + 1 if left else np.int64(link >> HALF)
        leaves[i] = words[at, 0]


@jit(inline="always")
def _step(X, row, words, cuts, node):  # type: ignore[no-untyped-def]
    """The child of a node that a row goes to; a leaf's is the leaf itself. All arrays are addresses."""
    link = words[2 * node + 1]
    x = np.float64(X[row + np.int64((link >> EIGHT) & FEATURE)])
    left = (x <= cuts[2 * node]) | ((x != x) & ((link & LEFT) != 0))
    below = node + 1 if left else np.int64(link >> HALF)
    return node if (link & LEAF) != 0 else below


@inner
def _leaf(X, row, words, cuts, node):  # type: ignore[no-untyped-def]
    """The leaf of one row."""
    while (words[2 * node + 1] & LEAF) == 0:
        node = _step(X, row, words, cuts, node)
    return node


@inner
def _eight(X, row, d, words, cuts, root, at):  # type: ignore[no-untyped-def]
    """at[:8]: the leaves of eight rows, which go down together, so that none waits for memory alone."""
    a = b = c = e = f = g = h = i = root
    while True:
        a, b = _step(X, row, words, cuts, a), _step(X, row + d, words, cuts, b)
        c, e = _step(X, row + 2 * d, words, cuts, c), _step(X, row + 3 * d, words, cuts, e)
        f, g = _step(X, row + 4 * d, words, cuts, f), _step(X, row + 5 * d, words, cuts, g)
        h, i = _step(X, row + 6 * d, words, cuts, h), _step(X, row + 7 * d, words, cuts, i)
        ends = words[2 * a + 1] & words[2 * b + 1] & words[2 * c + 1] & words[2 * e + 1]
        ends &= words[2 * f + 1] & words[2 * g + 1] & words[2 * h + 1] & words[2 * i + 1]
        if (ends & LEAF) != 0:
            break
    at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7] = a, b, c, e, f, g, h, i


@inner
def _eight_trees(X, row, words, cuts, roots, t, at):  # type: ignore[no-untyped-def]
    """at[:8]: the leaves of one row in eight trees, which it goes down together for the same reason."""
    a, b, c, e = roots[t], roots[t + 1], roots[t + 2], roots[t + 3]
    f, g, h, i = roots[t + 4], roots[t + 5], roots[t + 6], roots[t + 7]
    while True:
        a, b = _step(X, row, words, cuts, a), _step(X, row, words, cuts, b)
        c, e = _step(X, row, words, cuts, c), _step(X, row, words, cuts, e)
        f, g = _step(X, row, words, cuts, f), _step(X, row, words, cuts, g)
        h, i = _step(X, row, words, cuts, h), _step(X, row, words, cuts, i)
        ends = words[2 * a + 1] & words[2 * b + 1] & words[2 * c + 1] & words[2 * e + 1]
        ends &= words[2 * f + 1] & words[2 * g + 1] & words[2 * h + 1] & words[2 * i + 1]
        if (ends & LEAF) != 0:
            break
    at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7] = a, b, c, e, f, g, h, i


@inner
def _add_row(X, i, d, words, cuts, roots, trees, K, table, at, scores):  # type: ignore[no-untyped-def]
    """scores[i] += table[leaf of row i] for every tree in turn; all arrays are addresses.

    Where other work came between two questions, a forest lies in far memory: 0.41 → 0.2 ms a row with 100 trees of 9 000 nodes.
    """
    for t in range(0, trees, AT_ONCE):
        count = min(AT_ONCE, trees - t)
        if count == AT_ONCE:
            _eight_trees(X, i * d, words, cuts, roots, t, at)
        else:
            for k in range(count):
                at[k] = _leaf(X, i * d, words, cuts, roots[t + k])
        for k in range(count):
            leaf = np.int64(words[2 * at[k]])
            for c in range(K):
                scores[i * K + c] += table[leaf * K + c]


@inner
def _walk(X, rows, d, words, cuts, root, at, leaves):  # type: ignore[no-untyped-def]
    """leaves[i]: the leaf's row of the table for each of the rows."""
    first = 0
    while first + AT_ONCE <= rows:
        _eight(X, first * d, d, words, cuts, root, at)
        for k in range(AT_ONCE):
            leaves[first + k] = np.int64(words[2 * at[k]])
        first += AT_ONCE
    for i in range(first, rows):
        leaves[i] = np.int64(words[2 * _leaf(X, i * d, words, cuts, root)])


@jit
def walk_plain(X, words, cuts, root, leaves):  # type: ignore[no-untyped-def]
    """As `walk_all`, of trees without splits by categories."""
    at = np.empty(AT_ONCE, np.int64)
    _walk(
        data_pointer(X),
        X.shape[0],
        X.shape[1],
        data_pointer(words),
        data_pointer(cuts),
        root,
        data_pointer(at),
        data_pointer(leaves),
    )
    keep_alive((at,))


@jit
def add_plain(X, words, cuts, roots, table, scores):  # type: ignore[no-untyped-def]
    """scores[i] += table[leaf of row i] for every tree in turn, of trees without splits by categories."""
    at, leaves = np.empty(AT_ONCE, np.int64), np.empty(ROWS, np.int64)
    d, K = X.shape[1], table.shape[1]
    if X.shape[0] < AT_ONCE:
        for i in range(X.shape[0]):
            _add_row(
                data_pointer(X),
                i,
                d,
                data_pointer(words),
                data_pointer(cuts),
                data_pointer(roots),
                roots.shape[0],
                K,
                data_pointer(table),
                data_pointer(at),
                data_pointer(scores),
            )
        keep_alive((at,))
        return
    for first in range(0, X.shape[0], ROWS):
        rows = min(ROWS, X.shape[0] - first)
        some, own = X[first : first + rows], scores[first : first + rows]
        for tree in range(roots.shape[0]):
            _walk(
                data_pointer(some),
                rows,
                d,
                data_pointer(words),
                data_pointer(cuts),
                roots[tree],
                data_pointer(at),
                data_pointer(leaves),
            )
            add_rows(data_pointer(table), data_pointer(leaves), rows, K, data_pointer(own))
    keep_alive((at, leaves))


@inner
def add_rows(table, leaves, rows, K, scores):  # type: ignore[no-untyped-def]
    """scores[i] += table[leaves[i]], of addresses."""
    for i in range(rows):
        for k in range(K):
            scores[i * K + k] += table[leaves[i] * K + k]


@jit
def add_leaves(table, leaves, scores):  # type: ignore[no-untyped-def]
    """scores[i] += table[leaves[i]]."""
    for i in range(leaves.shape[0]):
        row = leaves[i]
        for k in range(table.shape[1]):
            scores[i, k] += table[row, k]


@jit
def leaf_of_codes(codes, rows, feature, cut, right, missing, lost, sets, leaf):  # type: ignore[no-untyped-def]
    """leaf[i]: the node (in preorder) where row rows[i] ends, by its codes; cut: the last code on the left, or the set."""
    for i in range(rows.shape[0]):
        r, at = rows[i], 0
        while feature[at] != -1:
            f = feature[at]
            if f >= 0:
                c = np.int64(codes[f, r])
                left = missing[at] == 1 if c == lost[f] else c <= cut[at]
            else:
                c = np.int64(codes[-2 - f, r])
                left = (sets[cut[at], c >> 6] >> np.uint64(c & 63)) & np.uint64(1) != 0
            at = at + 1 if left else right[at]
        leaf[i] = at


@jit
def preorder_ends(feature, ends):  # type: ignore[no-untyped-def]
    """ends[i]: the first node behind the subtree of i; False where the nodes are no trees in preorder."""
    n = feature.shape[0]
    for i in range(n - 1, -1, -1):
        if feature[i] == -1:
            ends[i] = i + 1
            continue
        right = ends[i + 1] if i + 1 < n else n
        if right >= n:
            return False
        ends[i] = ends[right]
    return True


@jit
def add_leaves_at(table, leaves, rows, sums, count):  # type: ignore[no-untyped-def]
    """sums[rows[i]] += table[leaves[i]] and count[rows[i]] += 1."""
    for i in range(rows.shape[0]):
        r, leaf = rows[i], leaves[i]
        count[r] += 1
        for k in range(table.shape[1]):
            sums[r, k] += table[leaf, k]


@inner
def _losses(sums, count, truth, weight, classes, loss, own):  # type: ignore[no-untyped-def]
    """loss[i] of the mean answer for row i: zero-one where there are classes, else squared; own[i]: its weight, 0 where no tree answered or
    it is not positive. How many rows are left."""
    K, rows = sums.shape[1], 0
    for i in range(count.shape[0]):
        good = (count[i] != 0) & (weight[i] > 0.0)
        if classes == 0:
            off = sums[i, 0] / max(count[i], 1) - truth[i]
            x = off * off
        else:
            best, most = 0, sums[i, 0]
            for k in range(1, K):
                better = sums[i, k] > most
                best += (k - best) * better
                most = max(most, sums[i, k])
            x = np.float64(best != truth[i])
        loss[i] = x
        own[i] = weight[i] * good
        rows += good
    return rows


@jit
def mean_loss(sums, count, truth, weight, classes):  # type: ignore[no-untyped-def]
    """(Σ w, Σ w², Σ w · loss / Σ w, rows) of the rows of positive weight that some tree answered; a mean of 0 where there are none."""
    loss, own, rows = np.empty(ROWS_OF_ANSWERS), np.empty(ROWS_OF_ANSWERS), 0
    W, squares, total = 0.0, 0.0, 0.0
    for first in range(0, sums.shape[0], ROWS_OF_ANSWERS):
        last = min(sums.shape[0], first + ROWS_OF_ANSWERS)
        rows += _losses(sums[first:last], count[first:last], truth[first:last], weight[first:last], classes, loss, own)
        a, b, c = 0.0, 0.0, 0.0
        for i in range(last - first):
            a += own[i]
            b += own[i] * own[i]
            c += own[i] * loss[i]
        W += a
        squares += b
        total += c
    return W, squares, total / W if W > 0.0 else 0.0, rows


@jit
def spread_of_loss(sums, count, truth, weight, classes, mean, unit):  # type: ignore[no-untyped-def]
    """Σ w · (unit · (loss − mean))² of the same rows."""
    loss, own, spread = np.empty(ROWS_OF_ANSWERS), np.empty(ROWS_OF_ANSWERS), 0.0
    for first in range(0, sums.shape[0], ROWS_OF_ANSWERS):
        last = min(sums.shape[0], first + ROWS_OF_ANSWERS)
        _losses(sums[first:last], count[first:last], truth[first:last], weight[first:last], classes, loss, own)
        c = 0.0
        for i in range(last - first):
            off = unit * (loss[i] - mean)
            c += own[i] * off * off
        spread += c
    return spread


SLACK = 1e-12  # rounding of shares that are added up


@jit
def weighted_quantiles(leaves, first, place, times, weight, weighted, targets, q, out):  # type: ignore[no-untyped-def]
    """out[i, j]: the least target whose share of weight up to it is at least q[j] (in order).

    leaves (m, T): the leaf of each row in each tree; place[first[l] : first[l + 1]]: the targets of leaf l, by their places in
    `targets` (in order), each `times` there and, where weighted, of weight `weight`.
    """
    T = leaves.shape[1]
    share = np.zeros(targets.shape[0])
    touched = np.empty(targets.shape[0], np.int64)
    for i in range(leaves.shape[0]):
        count = 0
        for t in range(T):
            a, b = first[leaves[i, t]], first[leaves[i, t] + 1]
            total = 0.0
            for k in range(a, b):
                total += times[k] * (weight[place[k]] if weighted else 1.0)
            for k in range(a, b):
                p = np.int64(place[k])
                if share[p] == 0.0:
                    touched[count] = p
                    count += 1
                share[p] += times[k] * (weight[p] if weighted else 1.0) / total
        there = np.sort(touched[:count])
        run, at = 0.0, -1
        for j in range(q.shape[0]):
            while at < 0 or (at + 1 < count and run < (q[j] - SLACK) * T):
                at += 1
                run += share[there[at]]
            out[i, j] = targets[there[at]]
        for k in range(count):
            share[there[k]] = 0.0


@jit
def add_contributions(leaves, parent, column, change, out):  # type: ignore[no-untyped-def]
    """out[i, column[v]] += change[v] for every node v between the leaf of row i and the root (parent −1); out (m, d, K)."""
    K = change.shape[1]
    for i in range(leaves.shape[0]):
        v = leaves[i]
        while parent[v] >= 0:
            for k in range(K):
                out[i, column[v], k] += change[v, k]
            v = parent[v]
