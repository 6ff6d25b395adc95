"""The law of equal bits with blocks as large as they are outside tests: tables of several."""

from __future__ import annotations

import pytest
from cases import CASES, IDS
from engine_marks import marks_on_engines

from assay.engines.rows import LARGEST_BLOCK

COLUMNS = 3
pytestmark = pytest.mark.usefixtures("blas_of_two")


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_model_files_of_large_tables_are_the_same_bytes_on_every_engine(case, client):
    """A block of labels alone has twice as many rows: what is learnt in one pass is learnt from several of these too."""
    n = (2 if case.one_fold else 1) * LARGEST_BLOCK + 5
    marks = marks_on_engines(case, n, COLUMNS, client, [("threads", 2), ("stream", 1)])
    assert len(set(marks.values())) == 1, marks
