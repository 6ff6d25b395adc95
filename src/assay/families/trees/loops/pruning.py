"""Cost-complexity pruning: the weakest link of a tree again and again, in n log n."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit


@inner
def _set(tree, leaves, node, value):  # type: ignore[no-untyped-def]
    """Put a node's link into the tournament, whose inner places hold the lesser of two."""
    at = leaves + node
    tree[at] = value
    at //= 2
    while at >= 1:
        tree[at] = min(tree[2 * at], tree[2 * at + 1])
        at //= 2


@jit
def cut_links(inside, leaves, parent, ends, is_leaf, alphas):  # type: ignore[no-untyped-def]
    """alphas[i]: from which alpha on split i is gone. inside (N,): gains of the splits in a subtree, leaves (N,): its leaves; both are used up."""
    n = inside.shape[0]
    size = 1
    while size < n:
        size *= 2
    tree = np.full(2 * size, np.inf)
    for i in range(n):
        if not is_leaf[i]:
            tree[size + i] = inside[i] / (leaves[i] - 1)
    for at in range(size - 1, 0, -1):
        tree[at] = min(tree[2 * at], tree[2 * at + 1])
    least = 0.0
    while tree[1] < np.inf:
        at = 1
        while at < size:
            at = 2 * at if tree[2 * at] == tree[at] else 2 * at + 1
        node = at - size
        least = max(least, tree[1])
        for j in range(node, ends[node]):
            if not is_leaf[j] and alphas[j] == np.inf:
                alphas[j] = least
                _set(tree, size, j, np.inf)
        lost, gone = inside[node], leaves[node] - 1
        up = parent[node]
        while up >= 0:
            inside[up] -= lost
            leaves[up] -= gone
            _set(tree, size, up, inside[up] / (leaves[up] - 1))
            up = parent[up]
