"""Growing a tree node by node, for several threads that share the columns of a large node."""

from __future__ import annotations

from assay.compiled import jit
from assay.compiled.simd.memory import data_pointer
from assay.loops.tree.kinds import cost, gain, target_pointers, total, weight
from assay.loops.tree.parting import mark_sides, narrow, part, part_lists, written
from assay.loops.tree.shapes import (
    ZERO,
    found_pointers,
    grown_pointers,
    lists_pointers,
    scratch_pointers,
    table_pointers,
)
from assay.loops.tree.splitting import best_of


@jit
def split_part(target, table, rules, entries, begin, end, n, sums, f, k, width, key, lists, found, scratch):  # type: ignore[no-untyped-def]
    """As `best_of`, of a node entries[begin : end] whose sums are known: for several threads, some columns each."""
    best_of(
        target_pointers(target),
        table_pointers(table),
        rules,
        data_pointer(entries),
        begin,
        end,
        n,
        data_pointer(sums),
        0,
        data_pointer(f),
        k,
        width,
        key,
        None if lists is None else lists_pointers(lists),
        found_pointers(found),
        scratch_pointers(scratch),
    )


@jit
def node_total(target, rules, entries, begin, end, sums, order):  # type: ignore[no-untyped-def]
    """(draws, whether all targets are alike, Σ w |y − median| where the criterion is that) of a node; its sums."""
    t, e = target_pointers(target), data_pointer(entries)
    n, alike = total(t, e, begin, end, data_pointer(sums), 0)
    return n, alike, cost(t, rules, e, begin, end, data_pointer(order))


@jit
def node_gain(target, rules, score, own_cost, n, sums):  # type: ignore[no-untyped-def]
    """(what a split with that score gains, the weight of the node in the units of its sums)."""
    t, s = target_pointers(target), data_pointer(sums)
    return gain(t, rules, score, own_cost, n, s, 0), weight(t, n, s, 0)


@jit
def split_node(table, found, entries, spare, begin, end, lists):  # type: ignore[no-untyped-def]
    """Part the entries of a node by the split found; the first of the right child. The sides are marked for its lists."""
    e = data_pointer(entries)
    middle = part(table_pointers(table), found_pointers(found), e, data_pointer(spare), begin, end)
    if lists is not None:
        mark_sides(lists_pointers(lists), e, begin, middle, end)
    return middle


@jit
def split_lists(table, lists, f, k, width, spare, begin, end):  # type: ignore[no-untyped-def]
    """As `part_lists`, for several threads, some columns each."""
    part_lists(table_pointers(table), lists_pointers(lists), data_pointer(f), k, width, data_pointer(spare), begin, end)


@jit
def write_split(table, found, out, many_left):  # type: ignore[no-untyped-def]
    """Note the split found as node 0 of `out`; 1 where it is by categories."""
    return written(table_pointers(table), found_pointers(found), grown_pointers(out), ZERO, ZERO, many_left)


@jit
def child_bounds(target, table, found, out, left_sums, bounds):  # type: ignore[no-untyped-def]
    """bounds (2, 2): of the right child and of the left one of node 0 of `out`."""
    channels = out.sums.shape[1]
    narrow(
        table_pointers(table),
        found_pointers(found),
        target_pointers(target),
        grown_pointers(out),
        ZERO,
        data_pointer(left_sums),
        channels,
        data_pointer(bounds),
        ZERO,
    )
