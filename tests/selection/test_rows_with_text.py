"""Rows with text as a comparison shows them: in their own words, and equal only where the texts are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.selection.raw_rows import RawRows


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    n = 80
    said = [f"case {i} was seen\nin town {i % 7} by {i % 3}" for i in range(n)]
    code = [None if i % 5 == 0 else f"K{i % 40}" for i in range(n)]
    return pa.table(
        {"said": said, "code": code, "size": rng.integers(0, 2, n), "y": np.array(["a", "b"])[rng.integers(0, 2, n)]}
    )


@pytest.fixture(scope="module")
def found(table):
    return assay.compare(table, "y", models=["baseline"], kinds={"said": "text", "code": "string", "size": "category"})


def test_rows_are_shown_with_their_texts(found):
    rows = RawRows.of(found.data, np.array([11, 5]))
    first, second = rows.in_words(0), rows.in_words(1)
    assert first["said"] == "case 5 was seen in town 5 by 2"
    assert (first["code"], second["code"]) == ("missing", "K11")


def test_texts_that_cannot_be_read_again_are_counted(found):
    rows = RawRows.of(replace(found.data, source=None), np.array([11]))
    assert rows.in_words(0)["said"] == "7 words"


def test_rows_that_differ_in_a_text_alone_are_not_equal(found):
    assert not any("also training rows" in worry.title or "equal rows" in worry.title for worry in found.worries)


def test_a_column_of_strings_is_shuffled_with_its_keys(found):
    rows = RawRows.of(found.data, np.arange(80))
    places = rows.places()
    assert len(places["code"]) == len(places["said"]) + 1 == (1 << 15) + 1
    assert sorted(p for each in places.values() for p in each) == list(range(found.data.rows.n_columns))
