"""A random split of a node of two classes."""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined
from assay.compiled.simd.memory import cast_pointer
from assay.loops.tree.candidates import beats
from assay.loops.tree.chance import keep_random_threshold, random_threshold
from assay.loops.tree.two_words import word_of, worth_of_word


@inlined
def two_by_random_threshold(table, rules, entries, a, b, f, n, s, xlogx, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by one random split of column f; says whether the column varies."""
    own = cast_pointer(scratch.items, table.codes)
    cut, high, threshold, left = random_threshold(table, entries, a, b, f, word, own)
    if cut < 0:
        return False
    gone = table.missing[f] if left == 1 else np.int64(-1)
    run = np.uint64(0)
    for i in range(b - a):
        run += word_of(entries[a + i]) if (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone) else np.uint64(0)
    worth = worth_of_word(run, n, s, rules.criterion, xlogx, rules.min_leaf)
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, left)
    return True
