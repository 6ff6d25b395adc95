"""The way of rows down trees: which nodes, which questions, and what each answer changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import DataError
from assay.hypotheses.trees.questions import Questions
from assay.hypotheses.trees.text import answer_in_words, rows_in_words
from assay.hypotheses.trees.values import node_gains, node_values, parents_of
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.trees.model import TreeModel


@dataclass(frozen=True)
class PathStep:
    """A question on the way of a row: `before` and `after` are the classes' shares (or the mean) at the node and at the child it went to."""

    node: int
    column: int
    question: str
    value: Any
    answer: bool
    gain: float | None
    before: Floats
    after: Floats


@dataclass(frozen=True)
class PathOfRow:
    """The steps of a row from the root to its leaf, and what the leaf says."""

    steps: tuple[PathStep, ...]
    leaf: int
    answer: Any
    weight: float
    _lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines)


def ancestors(model: TreeModel, leaves: Array) -> tuple[Array, Array]:
    """The nodes on the way to each of some leaves (of all nodes), first to last, one way after another; and where each begins."""
    walker = model._walker
    depth = walker.depths[leaves]
    begin = np.concatenate([[0], np.cumsum(depth + 1)])
    nodes = np.empty(begin[-1], dtype=np.int64)
    parent = parents_of(model.feature_, walker.ends)
    at, where = leaves.copy(), begin[:-1].copy()
    while len(at):
        nodes[where + walker.depths[at]] = at
        at = parent[at]
        there = at >= 0
        at, where = at[there], where[there]
    return nodes, begin


def indicator(model: TreeModel, leaves: Array) -> Any:
    """(n, N) sparse: 1 where the row of leaves (n, T), nodes of all trees, passes a node."""
    from scipy.sparse import csr_matrix

    nodes, begin = ancestors(model, leaves.reshape(-1))
    rows = begin[:: leaves.shape[1]]
    return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, rows), shape=(len(leaves), len(model.feature_)))


def path_of_row(model: TreeModel, x: Any) -> PathOfRow:
    """The way of one row down a single tree."""
    given = x if np.ndim(x) != 1 else [x]
    rows = model._rows_to_answer(given).in_memory()
    X = rows.X
    if len(X) != 1:
        raise DataError(f"The path of one row was asked for, but {len(X)} were given: give one, such as X[:1].")
    leaf = int(model.apply(given)[0])
    nodes, _ = ancestors(model, np.array([leaf]))
    ask, found, gains = Questions(model), node_values(model), node_gains(model)
    steps = tuple(
        PathStep(
            node=int(node),
            column=ask.column(node),
            question=ask.question(node),
            value=ask.value(node, float(X[0, ask.column(node)])),
            answer=bool(child == node + 1),
            gain=None if gains is None else float(gains[node]),
            before=found.answer[node],
            after=found.answer[child],
        )
        for node, child in zip(nodes[:-1].tolist(), nodes[1:].tolist())
    )
    lines = [f"all rows: {answer_in_words(model, found.answer[0], None)}   {rows_in_words(float(found.weight[0]))}"]
    for step, child in zip(steps, nodes[1:].tolist()):
        is_number = isinstance(step.value, float)
        value = "missing" if step.value is None else f"{step.value:.4g}" if is_number else f"{step.value}"
        gain = "" if step.gain is None else f", gain {step.gain:.4g}"
        said = f"{answer_in_words(model, step.after, None)}   {rows_in_words(float(found.weight[child]))}{gain}"
        lines.append(f"{step.question} ? {'yes' if step.answer else 'no'} ({value}) → {said}")
    return PathOfRow(steps, leaf, model._label_of(found.answer[leaf]), float(found.weight[leaf]), tuple(lines))
