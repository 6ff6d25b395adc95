"""Whether a table is compared in memory: by what it takes encoded, within the limit of the container."""

from __future__ import annotations

import pytest

import assay
from assay.selection import plan


@pytest.mark.parametrize(("share", "in_memory"), [(2.0, True), (0.5, False)])
def test_a_table_that_its_categories_make_wide_is_read_as_a_stream(monkeypatch, share, in_memory):
    rows = 400
    data = {"town": [f"t{i % 50}" for i in range(rows)], "x": [float(i % 7) for i in range(rows)]}
    y = ["a" if i % 3 else "b" for i in range(rows)]
    size = plan.size_of(assay.schema({**data, "y": y}, target="y"))
    assert size == 8 * rows * (2 + 50 + 1)
    monkeypatch.setattr(plan, "memory_limit", lambda: share * size)
    found = assay.compare({**data, "y": y}, "y", models=["baseline", "lda"], folds=2)
    assert found.data.in_memory == in_memory
