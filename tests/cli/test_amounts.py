"""Times and sizes as people type them."""

from __future__ import annotations

import click
import pytest

from assay.cli.options import MEMORY, SECONDS


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("5 min", 300), ("1h", 3600)])
def test_times(text, seconds):
    assert SECONDS.convert(text, None, None) == seconds


@pytest.mark.parametrize(("text", "size"), [("500M", 5e8), ("2G", 2e9), ("2gb", 2e9), ("1GiB", 2**30), ("64k", 64e3)])
def test_sizes(text, size):
    found = MEMORY.convert(text, None, None)
    assert (found, type(found)) == (size, int)


@pytest.mark.parametrize("text", ["", "soon", "0", "-1s", "5 parsecs", "1e3", "nan", "inf", "s"])
def test_anything_else_is_refused_with_examples(text):
    with pytest.raises(click.BadParameter, match="write it like"):
        SECONDS.convert(text, None, None)
