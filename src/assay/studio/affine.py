"""The model's own numbers as they change over the picture.

On a plane of numbers an encoded column is x_j(a) = c_j + u_j·a₁ + v_j·a₂, so that lines, boxes and ellipses of a model can be drawn where they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.engines import ArrayRows
from assay.numerics import Array, Floats
from assay.select.table_model import TableModel
from assay.studio.scene import Scene


class Affine(NamedTuple):
    """c, u, v (D,): the encoded columns at the origin of the plane, and along its two directions."""

    c: Floats
    u: Floats
    v: Floats

    def function(self, w: Floats, b: float) -> tuple[float, Floats]:
        """w·x + b over the plane as b' + w'·a."""
        return float(w @ self.c + b), np.array([w @ self.u, w @ self.v])

    @property
    def own(self) -> tuple[int, int] | None:
        """The two encoded columns that vary, each along one axis; None: it is not so."""
        moves: Array = np.column_stack([self.u != 0, self.v != 0])
        if (moves.all(axis=1)).any() or moves.sum(axis=0).tolist() != [1, 1]:
            return None
        return int(np.flatnonzero(self.u)[0]), int(np.flatnonzero(self.v)[0])


def affine(scene: Scene, model: TableModel) -> Affine | None:
    """None where an axis holds categories or the rows are not plain numbers."""
    if scene.on.levels != (None, None):
        return None
    step = scene.on.unit
    a = np.array([[0.0, 0.0], [step[0], 0.0], [0.0, step[1]]])
    rows: Any = model.encoding_.rows(ArrayRows(scene.on.points(a))).in_memory()
    if not isinstance(rows, ArrayRows):
        return None
    c, x, y = np.asarray(rows.X, dtype=np.float64)
    return Affine(c, (x - c) / step[0], (y - c) / step[1])
