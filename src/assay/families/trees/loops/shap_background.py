"""Exact SHAP values of trees against background rows, leaf by leaf.

A row x that takes some columns from a background row b reaches a leaf or not by the columns of the way to it alone. x satisfies what the way asks of
the columns s, b of p (sets, as bits of a word). Where together they have all m columns, the leaf of value v adds, with a = |s∖p| and c = |m∖s|,

    v · (a−1)! c! / (a+c)!  to each column of s∖p,     −v · a! (c−1)! / (a+c)!  to each column that s lacks;

otherwise nothing. A row needs only s, and rows of the same s share what was worked out: with B background rows a leaf of few columns costs
little more than one. Which of 64 background rows have all that s lacks is one word, and is zero most of the time.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.scalars import lowest_bit
from assay.families.trees.loops.walk import _goes_left

EIGHT, FEATURE = np.uint64(8), np.uint64(0xFFFFFF)
LEAF, ONE, NONE = np.uint64(4), np.uint64(1), np.uint64(0)
ROWS = 256  # that go down a tree together
FEW = 10  # columns of a way, up to which all sets have a place
WORD = 64


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
