"""What each column adds to an answer: from the leaf of a row up to the root, since the way of a row follows from its leaf."""

from __future__ import annotations

from assay.compiled import jit


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
