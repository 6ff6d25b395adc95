"""One row against weights: score, squared length, adding the row to weights; of dense rows (m, d) and of CSR.

    score = (b + Σ_{j ≥ e} x_j w_j, in order) + Σ of eight lanes,    e = 8·⌊d/8⌋,  lane l: Σ x_j w_j over j < e, j ≡ l mod 8,
    where the lanes are added in halves: (l, l + 4), then (l, l + 2), then (l, l + 1)

Products are rounded before they are added (no fused multiply-add) and the order is fixed, so that every machine gets the
same bits, and so does a checker in plain NumPy. A sparse row is summed in order, from b on. All sums are in float64.
The vector types are spelt out, and everything is generated in place: calls that pass arrays would count references
(measured for 50 columns: 63 → 9 ns a row). The kind of rows is chosen where a loop is compiled: loops are written once for both.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.numerics import Array


class Csr(NamedTuple):
    """Sparse rows: row i has data[a:b] in the columns indices[a:b], a, b = indptr[i], indptr[i + 1]."""

    data: Array
    indices: Array
    indptr: Array
