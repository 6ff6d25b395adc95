"""What a network learns from: rows as the loops want them, and what a fit knows of them before the first epoch.

One fold finds the weights of the classes, means and deviations, with the fingerprint. From these come the standardisation and the first
weights, drawn or of an earlier fit. Blocks are prepared with rows of weight zero left out, and rows held out for validation apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Part, Rows, fingerprint, fold, load
from assay.errors import DataError, ParameterError
from assay.families.networks.architecture import Layer, NetworkShape, Standardisation, hidden_sizes
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats
from assay.statistics.scatter import ClassMoments, absorb_moments, merge_moments

if TYPE_CHECKING:
    from assay.families.networks.fit import NetworkModel
    from assay.families.networks.training import Order

FIRST_WEIGHTS, HELD_OUT = 0, 1  # what draws are for, so that no two are alike
LEAST_DEVIATION = 1e-150  # a deviation below counts as none: its inverse would overflow
MOST_FILLED = 1 << 29  # bytes of sparse rows that are kept with their zeros; more are filled in again in each epoch
CACHE_LINE = 64  # bytes
ROWS_NEAR = 512  # rows that are standardised while they are near the processor
FEW = 1 << 15  # numbers for which the compiled loop is not worth its loading


class NetworkSurvey(NamedTuple):
    """Moments of the columns (1, d) and of a number to predict (1, 1); weight and rows of positive weight of each class (K,); all rows; the mark."""

    columns: ClassMoments
    target: ClassMoments | None
    weight: Floats
    rows: Array
    total: int
    mark: bytes


def target_of(labels: Labels | None, block: Block) -> Array:
    """Codes of the classes, or numbers."""
    assert block.y is not None
    return as_regression_target(block.y, block.start) if labels is None else labels.encode(block.y)


def absorb(labels: Labels | None, names: tuple[str, ...] | None, block: Block) -> NetworkSurvey:
    """The survey of one block."""
    target = target_of(labels, block)
    n, w, K = len(target), block.w, 1 if labels is None else len(labels.classes)
    codes = np.zeros(n, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        columns, weight, hashes = absorb_moments(block.X, codes, w, 1)
        of_target = None
        if labels is None:
            of_target = absorb_moments(np.ascontiguousarray(target.reshape(n, 1)), codes, w, 1)[0]
    if not (np.isfinite(columns.m2).all() and np.isfinite(weight).all()):
        refuse_non_finite(block.X, block.start, names)
        refuse_heavy(w)
        refuse_overflow(block.X, block.start, names)
    if of_target is not None and not np.isfinite(of_target.m2).all():
        raise DataError("The squares of y overflow float64: divide the target by a constant.")
    classes = codes if labels is None else target
    there = np.ones(n) if w is None else (w > 0).astype(np.float64)
    weight = np.bincount(classes, weights=w, minlength=K).astype(np.float64)
    rows = np.bincount(classes, weights=there, minlength=K).astype(np.int64)
    return NetworkSurvey(columns, of_target, weight, rows, n, fingerprint.leaf(hashes, block.X, target, w))


def merge(a: NetworkSurvey, b: NetworkSurvey) -> NetworkSurvey:
    """The survey of both stretches of rows together."""
    with np.errstate(over="ignore", invalid="ignore"):
        columns = merge_moments(a.columns, b.columns)
        target = None if a.target is None or b.target is None else merge_moments(a.target, b.target)
    mark = fingerprint.join(a.mark, b.mark)
    return NetworkSurvey(columns, target, a.weight + b.weight, a.rows + b.rows, a.total + b.total, mark)


def survey(engine: Engine, rows: Rows, labels: Labels | None) -> NetworkSurvey:
    """One fold over the rows."""
    found: NetworkSurvey | None = fold(engine, rows.blocks(), partial(absorb, labels, rows.names), merge)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.weight.sum() > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    if not np.isfinite(found.columns.m2).all():
        raise DataError("The spread of a column overflows float64: divide its values by a constant.")
    return found


def standard_of(model: NetworkModel, found: NetworkSurvey) -> Standardisation:
    """Means and deviations by which the rows are standardised; nothing is moved that no bias could move back."""
    d = len(found.columns.mean[0])
    if not model.standardize:
        return Standardisation(np.zeros(d), np.ones(d))
    mean, scale = _deviations(found.columns)
    hidden = hidden_sizes(model.hidden_layer_sizes)
    mean = mean if hidden or model.output_bias else np.zeros(d)
    if found.target is None:
        return Standardisation(mean, scale)
    centre, spread = _deviations(found.target)
    return Standardisation(mean, scale, float(centre[0]) if model.output_bias else 0.0, float(spread[0]))


def first_layers(shape: NetworkShape, found: NetworkSurvey, seed: int) -> list[Layer]:
    """Weights drawn by the seed. A column that never changes can teach nothing, and has none."""
    layers = shape.drawn(np.random.default_rng([seed, FIRST_WEIGHTS]))
    layers[0].weights[found.columns.m2[0] == 0] = 0.0
    return layers


def earlier_layers(model: NetworkModel, before: NetworkModel, standard: Standardisation) -> list[Layer]:
    """The weights of the fit before, for rows that are standardised in this way; refused where they are of another shape."""
    old, new = before._shape().widths, model._shape_now().widths
    if old[1:-1] != new[1:-1]:
        raise ParameterError(
            f"{type(model).__name__}: warm_start=True goes on with hidden layers {old[1:-1]}, and hidden_layer_sizes={model.hidden_layer_sizes!r} asks "
            "for others: leave hidden_layer_sizes as it was, or set warm_start=False to begin anew."
        )
    if old[0] != new[0]:
        raise DataError(
            f"warm_start=True goes on with weights of {old[0]} columns, and X has {new[0]} features: give the columns of the fit before, or set "
            "warm_start=False to begin anew."
        )
    ours, theirs = (getattr(m, "classes_", np.empty(0)) for m in (model, before))
    if not np.array_equal(ours, theirs):
        raise DataError(
            f"warm_start can only be used where `y` has the same classes as in the previous call to fit. Previously got {theirs}, "
            f"`y` has {ours}: set warm_start=False to begin anew."
        )
    earlier = before._standard()
    same = np.array_equal(earlier.mean, standard.mean) and np.array_equal(earlier.scale, standard.scale)
    if same and earlier[2:] == standard[2:]:
        return before._standard_layers()
    layers = standard.unfolded(before._layers())
    if not model.output_bias:
        layers[-1] = Layer(layers[-1].weights, np.zeros_like(layers[-1].biases))
    return layers


def _deviations(moments: ClassMoments) -> tuple[Floats, Floats]:
    """Means and deviations of the columns; a constant column has deviation 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.sqrt(moments.m2[0] / np.maximum(moments.n[0], 1e-300))
    return moments.mean[0], np.where(scale > LEAST_DEVIATION, scale, 1.0)


class NetworkTask(NamedTuple):
    """Shape and loss; how columns are standardised; labels (None: numbers) with the factor of each class; the mean weight of a row; the share of rows
    held out, and the seed that chooses them."""

    shape: NetworkShape
    loss: str
    standard: Standardisation
    labels: Labels | None
    factor: Floats | None
    unit: float
    dtype: str
    held: float
    seed: int


class UnpreparedRows(NamedTuple):
    """Rows of positive weight as they are: X, target (codes or numbers), weights c (None: all 1)."""

    X: Array
    target: Array
    c: Floats | None


def keep(task: NetworkTask, block: Block) -> UnpreparedRows:
    """Weights are those of the rows times those of their classes."""
    X, target = block.X, target_of(task.labels, block)
    if block.w is None and task.factor is None:
        return UnpreparedRows(X, target, None)
    c = np.ones(len(target)) if block.w is None else block.w
    c = c if task.factor is None else c * task.factor[target]
    there = c > 0
    return UnpreparedRows(X, target, c) if there.all() else UnpreparedRows(X[there], target[there], c[there])


class PreparedBlock(NamedTuple):
    """A block prepared; the numbers of the rows to learn from and of those held out; the weight of the former, in rows; the first row's number in the table."""

    rows: NetworkRows
    train: Array
    held: Array
    weight: float
    start: int


def prepare_block(task: NetworkTask, block: Block) -> PreparedBlock:
    """A block for the loops."""
    kept = keep(task, block)
    numbers, codes = (None, kept.target) if task.labels is not None else (task.standard.numbers(kept.target), None)
    c = None if kept.c is None else kept.c / task.unit
    rows = prepare(task.shape, kept.X, codes, numbers, c, task.dtype, task.standard.columns)
    held = held_out(task, block.start, kept.target)
    train = np.flatnonzero(~held)
    weight = float(len(train)) if kept.c is None else float(rows.weights[train].sum())
    return PreparedBlock(rows, train, np.flatnonzero(held), weight, block.start)


def held_out(task: NetworkTask, start: int, target: Array) -> Array:
    """Which rows of a block are held out: a share of each class of them, drawn by the seed and the number of the block's first row."""
    n = len(target)
    found = np.zeros(n, dtype=bool)
    if task.held > 0 and n:
        order = np.random.default_rng([task.seed, HELD_OUT, start]).permutation(n)
        if task.labels is not None:
            order = order[np.argsort(target[order], kind="stable")]
        places = np.floor(task.held * np.arange(n + 1))
        found[order[places[1:] > places[:-1]]] = True
    return found


def epoch_order(task: NetworkTask, epoch: int, piece: PreparedBlock, shuffles: bool) -> Order:
    """How an epoch goes through the rows of a block."""
    from assay.families.networks.training import Order

    return Order(piece.train, shuffles, task.seed, epoch, piece.start)


def fits_in_memory(task: NetworkTask, rows: Rows) -> bool:
    """Whether rows stay in memory as they are prepared: those that lie there anyway, and sparse ones that are not too many with their zeros."""
    if rows.resident or not rows.local or rows.n_rows is None:
        return rows.resident
    return rows.n_rows * int(task.shape.wide[0]) * np.dtype(task.dtype).itemsize <= MOST_FILLED


class PreparedBlocks:
    """The pieces of all blocks in order, as often as they are iterated: kept where the rows are in memory, else read again."""

    def __init__(self, engine: Engine, rows: Rows, task: NetworkTask) -> None:
        rows = rows.at_hand()
        self._engine, self._rows, self._task = engine.reader(), rows, task
        self._kept: list[PreparedBlock] | None = None
        if fits_in_memory(task, rows):
            self._kept = list(self._engine.map(partial(_prepared, task), rows.blocks()))

    @property
    def only(self) -> PreparedBlock | None:
        """The one block with rows to learn from, where it is in memory and there is no other."""
        full = [piece for piece in self._kept or () if len(piece.train)]
        return full[0] if len(full) == 1 else None

    def __iter__(self) -> Iterator[PreparedBlock]:
        if self._kept is not None:
            yield from self._kept
            return
        for block in self._engine.map(load, self._rows.blocks()):
            yield prepare_block(self._task, block)


def _prepared(task: NetworkTask, part: Part) -> PreparedBlock:
    return prepare_block(task, part.load())


class NetworkRows(NamedTuple):
    """Rows as the loops want them: X (n, filled width), codes (n,) of classes or numbers (n, outputs), weights (n,) of mean 1."""

    X: Array
    codes: Array
    targets: Array
    weights: Floats


def prepare(
    shape: NetworkShape,
    X: Array,
    codes: Array | None,
    numbers: Array | None,
    weights: Array | None,
    dtype: Any,
    standard: tuple[Floats, Floats] | None = None,
) -> NetworkRows:
    """Rows, at mean 0 and deviation 1 where `standard` gives those of the columns, filled up to the first width; what is not there (codes, numbers, weights) is
    given a place."""
    n, d = X.shape
    filled = aligned((n, int(shape.wide[0])), dtype)
    if standard is None:
        filled[:, :d] = X
    else:
        _standardise(X, *standard, filled)
    codes = np.zeros(n, dtype=np.int64) if codes is None else np.ascontiguousarray(codes, dtype=np.int64)
    targets = (
        np.zeros((1, 1), dtype=dtype) if numbers is None else np.ascontiguousarray(numbers.reshape(n, -1), dtype=dtype)
    )
    return NetworkRows(
        filled, codes, targets, np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    )


def _standardise(X: Array, mean: Floats, scale: Floats, filled: Array) -> None:
    """The same bits either way."""
    if X.size > FEW and X.flags.c_contiguous:
        from assay.families.networks.loops.minibatch import fill

        fill(X, mean, scale, filled)
        return
    for first in range(0, len(X), ROWS_NEAR):
        Z = X[first : first + ROWS_NEAR] - mean
        Z /= scale
        filled[first : first + ROWS_NEAR, : X.shape[1]] = Z


def aligned(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """Zeros that begin where a line of the cache does: a vector of 64 bytes then never lies on two of them (4 % of a batch of digits).

    >>> aligned((2, 3), np.float32).ctypes.data % 64
    0
    """
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    first = -room.ctypes.data % CACHE_LINE
    found: Array = room[first : first + size].view(dtype).reshape(shape)
    return found
