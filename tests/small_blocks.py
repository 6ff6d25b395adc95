"""Blocks of few rows, so that what happens at their edges and in many of them is tested on small tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from assay.engines import rows
from assay.families.trees import training_data

FEW = 1 << 13  # numbers a block


def _set_block(elements: int) -> None:
    rows.BLOCK_ELEMENTS = elements


@contextmanager
def small_blocks(client: Any = None) -> Iterator[None]:
    """Here and on the cluster's workers a block has few numbers, and trees take tables to be large from few rows on."""
    whole = rows.BLOCK_ELEMENTS
    try:
        if client is not None:
            client.run(_set_block, FEW)
        with patch.object(rows, "BLOCK_ELEMENTS", FEW), patch.object(training_data, "FEW_ROWS", 1000):
            yield
    finally:
        if client is not None:
            client.run(_set_block, whole)
