"""Exact SHAP values of trees, all ways at once and eight rows together.

A leaf of value v at the end of a way over the columns M adds to column j

    v · (o_j − z_j) · ∫₀¹ Π_{k ∈ M∖j} f_k(t) dt,     f_k(t) = t·o_k + (1 − t)·z_k,

o_k ∈ {0, 1}: whether the row satisfies all that the way asks of column k; z_k: which share of the rows that the tree was grown from does (or
whether a background row does). The integral is Shapley's sum over subsets, as ∫ t^s (1 − t)^(m−1−s) dt = s! (m−1−s)! / m!. Its integrand is a polynomial of
degree m − 1, so Gauss and Legendre's ⌈m/2⌉ points give it exactly, all terms positive: nothing cancels. Products P(t) = Π f_k(t) are carried
down the tree, sums G(t) = Σ v·P(t) of leaves up, and an edge adds Σ_q w_q·(c − c')·G(t_q) to its column: c = (o − z) / f, c' that of the edge above
which asked for the same column (telescoping as Yu et al. 2022). That is one step a node and point, where Lundberg's own takes depth² a leaf.

Against background rows (`add_shap_of_leaves`) one goes leaf by leaf. A row x that takes some columns from a background row b reaches a leaf or not by
the columns of the way to it alone. x satisfies what the way asks of the columns s, b of p (sets, as bits of a word). Where together they have all m
columns, the leaf of value v adds, with a = |s∖p| and c = |m∖s|,

    v · (a−1)! c! / (a+c)!  to each column of s∖p,     −v · a! (c−1)! / (a+c)!  to each column that s lacks;

otherwise nothing. A row needs only s, and rows of the same s share what was worked out: with B background rows a leaf of few columns costs
little more than one. Which of 64 background rows have all that s lacks is one word, and is zero most of the time.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.gathers import close_edge, go_down, rows_up_to, scale_to
from assay.compiled.simd.memory import data_pointer, keep_alive
from assay.compiled.simd.scalars import lowest_bit
from assay.families.trees.loops.walk import _goes_left

HALF, EIGHT, FEATURE = np.uint64(32), np.uint64(8), np.uint64(0xFFFFFF)
LEFT, SETS, LEAF = np.uint64(1), np.uint64(2), np.uint64(4)
LANE, ALL = 8, 255
ONE, NONE = np.uint64(1), np.uint64(0)
ROWS = 256  # that go down a tree together
FEW = 10  # columns of a way, up to which all sets have a place
WORD = 64


@jit
def describe_edges(words, roots, nodes, depths, share, most, earlier, degree):  # type: ignore[no-untyped-def]
    """earlier[i]: the depth of the lowest node above i whose edge asks for the same column as the edge to i; 0 where there is none.

    share[i], first the share of its parent's rows at node i, becomes z of the edge to i; degree[t]: the most columns on one way.
    """
    column, count, z = np.empty(most + 1, np.int64), np.zeros(most + 1, np.int64), np.ones(most + 1)
    asks = np.empty(most + 1, np.int64)
    for t in range(roots.shape[0]):
        degree[t] = 0
        for i in range(roots[t], roots[t] + nodes[t]):
            level = depths[i]
            if level > 0:
                j = asks[level - 1]
                at = level - 1
                while at > 0 and column[at] != j:
                    at -= 1
                column[level], earlier[i] = j, at
                count[level] = count[level - 1] + (at == 0)
                z[level] = share[i] * z[at] if at > 0 else share[i]
                share[i] = z[level]
                degree[t] = max(degree[t], count[level])
            link = words[i, 1]
            if not link & LEAF:
                asks[level] = np.int64((link >> EIGHT) & FEATURE)


@inner
def _fill_edge(E, rest, e, Q, t, weight, at, z, above):  # type: ignore[no-untyped-def]
    """Row e of E (·, 4Q): factors and addends of hot and cold rows on an edge of share z, below one of share `above` (1: none); rest[e]: the
    factor of rows that failed above. Points and weights begin at `at`."""
    rest[e] = z / above if above > 0.0 else 0.0
    for q in range(Q):
        p, w = t[at + q], weight[at + q]
        before = above * (1.0 - p) + p
        hot, was = z * (1.0 - p) + p, (1.0 - above) / before
        E[4 * Q * e + q] = hot / before
        E[4 * Q * e + Q + q] = z * (1.0 - p) / before
        E[4 * Q * e + 2 * Q + q] = w * ((1.0 - z) / hot - was)
        E[4 * Q * e + 3 * Q + q] = w * (-1.0 / (1.0 - p) - was)


@inner
def _left_rows(X, at, cut, link, sets, levels, category, first):  # type: ignore[no-untyped-def]
    """Which of eight rows go to the left."""
    if not link & SETS:
        return rows_up_to(X, at, cut, ALL if link & LEFT else 0)
    found = 0
    for r in range(LANE):
        found |= np.int64(_goes_left(X[at + r], cut, link, sets, levels, category, first)) << r
    return found


@inner
def _add_tree(  # type: ignore[no-untyped-def]
    X,
    x,
    words,
    cuts,
    root,
    end,
    ends,
    depths,
    earlier,
    share,
    E,
    rest,
    Q,
    sets,
    levels,
    category,
    first,
    table,
    C,
    way,
    P,
    G,
    phi,
    f,
    K,
):
    """phi[column, c, row] += the SHAP values of eight rows X[column, row] for one tree; all but sets and categories are addresses.

    X and phi begin at x and f, and phi has K answers a column; row i − root of E and rest is of the edge to node i, and where its share is zero only
    hot rows get beyond. `way` holds of each level five numbers: the node, its rows that go left, and of the edge to it the hot rows,
    the cold ones, and those that got so far.
    """
    step = Q * LANE
    for q in range(step):
        P[q] = 1.0
    way[0], way[2], way[4] = root, ALL, ALL
    i = root
    while i < end:
        level, link, reached = depths[i], words[2 * i + 1], True
        here = 5 * level
        if level > 0:
            e, above = i - root, way[5 * earlier[i] + 2]
            goes = way[here - 4] if i == way[here - 5] + 1 else ~way[here - 4]
            hot, cold = above & goes, above & ~goes
            alive = way[here - 1] & hot if share[i] == 0.0 else way[here - 1]
            way[here], way[here + 2], way[here + 3], way[here + 4] = i, hot, cold, alive
            reached = alive != 0
            if reached:
                go_down(P, (level - 1) * step, level * step, E, 4 * Q * e, rest[e], hot, cold, Q)
        if reached and not link & LEAF:
            at = x + LANE * np.int64((link >> EIGHT) & FEATURE)
            way[here + 1] = _left_rows(X, at, cuts[2 * i], link, sets, levels, category, first)
            i += 1
            continue
        for c in range(C):
            value = table[C * np.int64(words[2 * i]) + c] if reached else 0.0
            scale_to(P, level * step, value, G, (level * C + c) * step, Q)
        i = ends[i]
        while level > 0:  # of all subtrees that end here
            here = 5 * level
            node, parent = way[here], way[here - 5]
            column = np.int64((words[2 * parent + 1] >> EIGHT) & FEATURE)
            on_left, e = np.int64(node == parent + 1), 4 * Q * (node - root)
            for c in range(C):
                own, to = (level * C + c) * step, ((level - 1) * C + c) * step
                sum_at = f + LANE * (column * K + c)
                close_edge(G, own, to, on_left, E, e, way[here + 2], way[here + 3], Q, phi, sum_at)
            if on_left:
                break
            level -= 1


@jit
def add_shap(  # type: ignore[no-untyped-def]
    X,
    words,
    cuts,
    roots,
    ends,
    depths,
    earlier,
    share,
    degree,
    t,
    weight,
    sets,
    levels,
    category,
    first,
    table,
    output,
    phi,
):
    """phi[g, j, output[tree] + c, r] += the SHAP value of column j for row 8g + r and answer c of every tree in turn.

    X (groups, d, 8); share: z of the edge to each node; t, weight (Q, ·): the points of each number of points; table (R, C).
    """
    d, C, K, points = X.shape[1], table.shape[1], phi.shape[2], t.shape[1]
    most, deepest = _sizes(roots, ends, depths)
    E, rest = np.empty(4 * points * most), np.empty(most)
    way, z = np.empty(5 * (deepest + 1), np.int64), np.ones(deepest + 1)
    P, G = np.zeros((deepest + 1) * points * LANE), np.empty((deepest + 1) * C * points * LANE)
    for tree in range(roots.shape[0]):
        root, end, Q = roots[tree], ends[roots[tree]], (degree[tree] + 1) // 2
        for i in range(root + 1, end):
            z[depths[i]] = share[i]
            at = Q * points
            _fill_edge(
                data_pointer(E), data_pointer(rest), i - root, Q, data_pointer(t), data_pointer(weight), at, share[i], z[earlier[i]]
            )  # fmt: skip
        for g in range(X.shape[0] if Q > 0 else 0):
            _add_tree(
                data_pointer(X), g * d * LANE, data_pointer(words), data_pointer(cuts), root, end, data_pointer(ends),
                data_pointer(depths), data_pointer(earlier), data_pointer(share), data_pointer(E),
                data_pointer(rest), Q, sets, levels, category, first, data_pointer(table), C, data_pointer(way), data_pointer(P),
                data_pointer(G), data_pointer(phi), (g * d * K + output[tree]) * LANE, K,
            )  # fmt: skip
    keep_alive((E, rest, way, P, G))


@jit
def _sizes(roots, ends, depths):  # type: ignore[no-untyped-def]
    """The nodes of the largest tree, and the depth of the deepest."""
    most, deepest = 0, 0
    for tree in range(roots.shape[0]):
        most = max(most, ends[roots[tree]] - roots[tree])
    for i in range(depths.shape[0]):
        deepest = max(deepest, depths[i])
    return most, deepest


@jit
def shares_of_row(x, words, cuts, sets, levels, category, first, share):  # type: ignore[no-untyped-def]
    """share[i]: 1 where a row's answer to the question above node i leads there, else 0: what `describe_edges` makes z of for one row alone."""
    for i in range(words.shape[0]):
        link = words[i, 1]
        if not link & LEAF:
            j = np.int64((link >> EIGHT) & FEATURE)
            left = _goes_left(x[j], cuts[i, 0], link, sets, levels, category, first)
            share[i + 1] = np.float64(left)
            share[np.int64(link >> HALF)] = np.float64(not left)


@inner
def _bits(word):  # type: ignore[no-untyped-def]
    """How many bits are set."""
    count = 0
    while word != NONE:
        word &= word - ONE
        count += 1
    return count


@inner
def _ask(X, begin, rows, j, cut, link, sets, levels, category, first, out):  # type: ignore[no-untyped-def]
    """out[r] = 1 where row begin + r of X goes to the left, else 0."""
    for r in range(rows):
        x = np.float64(X[begin + r, j])
        out[r] = np.uint64(_goes_left(x, cut, link, sets, levels, category, first))


@inner
def _narrow(above, asked, left, slot, again, rows, out):  # type: ignore[no-untyped-def]
    """out: of each row the columns of the way that it satisfies, from those above and the answer to one question more."""
    k, flip = np.uint64(slot), np.uint64(0 if left else 1)
    if again:
        for r in range(rows):
            out[r] = above[r] & ~(((asked[r] ^ flip) ^ ONE) << k)
    else:
        for r in range(rows):
            out[r] = above[r] | ((asked[r] ^ flip) << k)


@inner
def _of_leaf(s, m, p, having, last, beta, out):  # type: ignore[no-untyped-def]
    """out[k]: what a leaf of value 1 adds to column k of its way for rows of the set s; whether anything. having[level, word]: the background rows
    that satisfy what the way asks down to there of the level's column, last[k]: the lowest level of column k."""
    full = (ONE << np.uint64(m)) - ONE
    lacks = full & ~s
    c = _bits(lacks)
    for k in range(m):
        out[k] = 0.0
    against, some = 0.0, False
    for word in range(having.shape[1]):
        there = having[0, word]
        rest = lacks
        while rest != NONE and there != NONE:
            there &= having[last[lowest_bit(rest)], word]
            rest &= rest - ONE
        while there != NONE:
            b = WORD * word + lowest_bit(there)
            there &= there - ONE
            own = s & ~p[b]
            a = _bits(own)
            if a + c == 0:
                continue
            some = True
            if c > 0:
                against += beta[c, a]
            while own != NONE:
                out[lowest_bit(own)] += beta[a, c]
                own &= own - ONE
    while lacks != NONE:
        out[lowest_bit(lacks)] = -against
        lacks &= lacks - ONE
    return some


@jit
def add_shap_of_leaves(  # type: ignore[no-untyped-def]
    X,
    background,
    words,
    cuts,
    roots,
    ends,
    depths,
    earlier,
    degree,
    beta,
    sets,
    levels,
    category,
    first,
    table,
    output,
    phi,
):
    """phi[i, j, output[tree] + c] += Σ over background rows of the SHAP value of column j for row i and answer c of every tree in turn.

    beta[a, c] = (a−1)! c! / (a+c)!; earlier[i]: the depth of the lowest edge above the one to i that asks for the same column, 0: none.
    """
    B, C, deepest = background.shape[0], table.shape[1], 0
    for i in range(depths.shape[0]):
        deepest = max(deepest, depths[i])
    blocks = (B + WORD - 1) // WORD
    s, p = np.zeros((deepest + 1, ROWS), np.uint64), np.zeros((deepest + 1, B), np.uint64)
    asked, asked_b = np.zeros((deepest + 1, ROWS), np.uint64), np.zeros((deepest + 1, B), np.uint64)
    having = np.zeros((deepest + 1, blocks), np.uint64)
    for b in range(B):
        having[0, b // WORD] |= ONE << np.uint64(b % WORD)
    node, slot, columns = (
        np.zeros(deepest + 1, np.int64),
        np.zeros(deepest + 1, np.int64),
        np.zeros(deepest + 1, np.int64),
    )
    last, column = np.zeros(deepest + 1, np.int64), np.zeros(deepest + 1, np.int64)
    made, found = np.full(1 << FEW, -1, np.int64), np.zeros((1 << FEW, FEW))
    one = np.zeros(max(1, deepest))
    some = np.zeros(1 << FEW, np.uint8)
    for tree in range(roots.shape[0]):
        root, end = roots[tree], ends[roots[tree]]
        for begin in range(0, X.shape[0] if degree[tree] > 0 else 0, ROWS):
            rows = min(ROWS, X.shape[0] - begin)
            for i in range(root, end):
                level, link = depths[i], words[i, 1]
                node[level] = i
                if level > 0:
                    left, at = i == node[level - 1] + 1, earlier[i]
                    slot[level] = slot[at] if at > 0 else columns[level - 1]
                    columns[level] = columns[level - 1] + (at == 0)
                    _narrow(s[level - 1], asked[level - 1], left, slot[level], at > 0, rows, s[level])
                    _narrow(p[level - 1], asked_b[level - 1], left, slot[level], at > 0, B, p[level])
                    for word in range(blocks):
                        having[level, word] = NONE
                    for b in range(B):
                        having[level, b // WORD] |= ((p[level, b] >> np.uint64(slot[level])) & ONE) << np.uint64(
                            b % WORD
                        )
                if not link & LEAF:
                    j, cut = np.int64((link >> EIGHT) & FEATURE), cuts[i, 0]
                    _ask(X, begin, rows, j, cut, link, sets, levels, category, first, asked[level])
                    _ask(background, 0, B, j, cut, link, sets, levels, category, first, asked_b[level])
                    continue
                m = columns[level]
                for above in range(1, level + 1):
                    last[slot[above]] = above
                    column[slot[above]] = np.int64((words[node[above - 1], 1] >> EIGHT) & FEATURE)
                row = np.int64(words[i, 0])
                for r in range(rows):
                    own = s[level, r]
                    place = np.int64(own) if m <= FEW else 0
                    adds = found[place] if m <= FEW else one
                    if m > FEW or made[place] != begin * depths.shape[0] + i:
                        made[place] = begin * depths.shape[0] + i
                        some[place] = _of_leaf(own, m, p[level], having, last, beta, adds)
                    if some[place]:
                        for c in range(C):
                            value, to = table[row, c], output[tree] + c
                            for k in range(m):
                                phi[begin + r, column[k], to] += adds[k] * value
