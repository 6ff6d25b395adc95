"""The merge tree depends on the order of the blocks alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import Block, Engine, fold, merge_in_order
from assay.engines.engine import Stream, Threads


class Plain(Engine):
    """The simplest engine there is, with groups of a chosen size."""

    name = "plain"

    def __init__(self, group):
        self.group = group

    def map(self, function, items):
        return map(function, items)


def block(i):
    return Block(np.full((1, 1), float(i)), None, None, i)


def letter(b):
    return chr(0x4E00 + int(b.X[0, 0]))


def bracket(a, b):
    return f"({a}{b})"


@given(count=st.integers(0, 200), group=st.sampled_from([1, 2, 4, 8, 16]))
def test_the_tree_is_the_same_for_every_group_size(count, group):
    blocks = [block(i) for i in range(count)]
    assert fold(Plain(group), blocks, letter, bracket) == fold(Plain(1), blocks, letter, bracket)


@given(count=st.integers(1, 200))
def test_the_tree_keeps_the_order_and_is_balanced(count):
    text = fold(Plain(1), (block(i) for i in range(count)), letter, bracket)
    assert text.replace("(", "").replace(")", "") == "".join(letter(block(i)) for i in range(count))
    depth = np.cumsum([{"(": 1, ")": -1}.get(c, 0) for c in text]).max(initial=0)
    assert depth <= int(np.ceil(np.log2(count))) + (count.bit_count() > 1)


@pytest.mark.parametrize(
    "engine", [Threads(1), Threads(2), Threads(5), Stream(1), Stream(3)], ids=lambda e: f"{e.name}{e.workers}"
)
def test_real_engines_build_that_tree(engine):
    for count in (0, 1, 2, 3, 7, 8, 9, 64, 65, 100):
        blocks = [block(i) for i in range(count)]
        assert fold(engine, blocks, letter, bracket) == fold(Plain(1), blocks, letter, bracket)


def test_the_cluster_builds_that_tree(client):
    from assay.engines.cluster import Cluster

    engine = Cluster(client)
    for count in (0, 1, 8, 9, 17, 33):
        blocks = [block(i) for i in range(count)]
        wanted = fold(Plain(1), blocks, letter, bracket)
        assert fold(engine, blocks, lambda b: chr(0x4E00 + int(b.X[0, 0])), lambda a, b: f"({a}{b})") == wanted


def test_nothing_merges_to_nothing():
    assert merge_in_order([], bracket) is None
