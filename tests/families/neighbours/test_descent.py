"""The steps that are shown are those of a search: they end with its answer, and leave out nothing that matters."""

from __future__ import annotations

import numpy as np
import pytest
from neighbour_rows import NORMS, queries_like, rows_like

from assay.engines.engine import Threads
from assay.families.neighbours.kdtree import BoxTree
from assay.families.neighbours.steps import descent


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", ["normal", "tied", "equal", "clustered", "scaled", "huge"])
@pytest.mark.parametrize("n", [1, 40, 700])
def test_the_last_step_has_the_answer(norm, kind, n):
    Z = rows_like(kind, n, 2)
    tree, k = BoxTree(Z, Threads(1), norm), min(n, 5)
    Q = queries_like(kind, Z, 3)
    r, index = tree.nearest(Q, k)
    for i, q in enumerate(Q):
        *_, last = descent(tree, q, k)
        assert last.best == tuple(zip(index[i].tolist(), r[i].tolist()))


def test_every_row_is_looked_at_or_in_a_box_that_is_left_out():
    Z = rows_like("normal", 700, 2)
    steps = list(descent(BoxTree(Z, Threads(1)), Z[3], 4))
    seen = [row for step in steps for row in step.rows]
    assert len(seen) == len(set(seen)) < 200
    left = [step for step in steps if not step.looked]
    inside = [np.all((np.array(step.low) <= Z) & (np.array(step.high) >= Z), axis=1) for step in left]
    assert set(np.flatnonzero(np.any(inside, axis=0))) | set(seen) == set(range(700))
    assert all(step.gap > step.best[-1][1] for step in left)
