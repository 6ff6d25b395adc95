"""What a fitted network does on the rows of its fit: loss, errors, gradient, and slopes beside differences. One fold over the blocks, in float64.

    J = Σ c ℓ / Σ c + ½ p ‖W‖²      p = α / (rows of a mini-batch), or α / Σ c where every step sees all rows

Columns, weights and a regression's target are the standardised ones. The gradient is taken of every `every`-th row of a block (all, where rows are few). Slopes along
directions u are taken of every `few`-th row, by back-propagation and as its two differences (ℓ(W) − ℓ(W − h u)) / h and (ℓ(W + h u) − ℓ(W)) / h:
the slope lies between them, and they are nearly equal but where ℓ has a kink.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, block_rows, fold
from assay.engines.derived import row_keys
from assay.engines.engine import Threads, merge_in_order
from assay.families.networks import architecture
from assay.families.networks.architecture import Layer, NetworkShape, count, packed, unpacked
from assay.families.networks.hyper_parameters import DIRECTIONS
from assay.families.networks.training_data import NetworkRows, NetworkTask, UnpreparedRows, keep, prepare
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.networks.training import Trainer

MOST_ROWS, FEW_ROWS = 1 << 10, 1 << 7  # of which the gradient is taken, and differences
STEP, SEED = 1e-6, 0x6E6574
AT_A_TIME = 1 << 11
MUCH = 1 << 24  # rows times weights from which threads are worth their start
MANY = 4  # blocks a thread from which each takes whole ones: of fewer, one may be left with most of the rows


class MeasureSums(NamedTuple):
    """Σ c, Σ c ℓ and Σ c [wrong] of all rows; Σ c and ∇ Σ c ℓ of some; of few Σ c, with slopes, lesser and greater differences and
    their size (4, DIRECTIONS), and the greatest |f|."""

    weight: float
    loss: float
    wrong: float
    some: float
    gradient: Floats
    few: float
    slopes: Floats
    top: float


class Measured(NamedTuple):
    """Means of the sums; p, ‖W‖², ‖∇J‖; every how many rows. A model keeps it as one array."""

    weight: float
    loss: float
    wrong: float
    penalty: float
    squares: float
    gradient: float
    every: float
    few: float
    top: float
    slopes: Floats
    low: Floats
    high: Floats
    size: Floats

    def packed(self) -> Floats:
        """All numbers in one array."""
        return np.concatenate([np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in self])

    @classmethod
    def of(cls, numbers: Floats) -> Measured:
        """The measures again."""
        return cls(*numbers[: -4 * DIRECTIONS].tolist(), *numbers[-4 * DIRECTIONS :].reshape(4, DIRECTIONS))


def measure(engine: Engine, rows: Rows, task: NetworkTask, layers: list[Layer], penalty: float, many: int) -> Measured:
    """Of the layers that answer standardised rows; many: rows of positive weight."""
    every, few = (max(1, -(-many // most)) for most in (MOST_ROWS, FEW_ROWS))
    numbers = packed(layers)
    workers = engine.workers or 1
    absorb = partial(_absorb, task, numbers, every, few, workers)
    sums: MeasureSums | None
    if engine.shares_memory and many < MANY * workers * block_rows(rows.n_columns):
        sums = merge_in_order((absorb(part.load()) for part in rows.blocks()), _merge)  # threads share each block
    else:
        sums = fold(engine, rows.blocks(), absorb, _merge)
    assert sums is not None
    weights = packed([Layer(W, np.zeros_like(b)) for W, b in layers])
    gradient = sums.gradient / sums.some + penalty * weights
    return Measured(
        sums.weight,
        sums.loss / sums.weight,
        sums.wrong / sums.weight,
        penalty,
        float((weights * weights).sum()),
        math.sqrt(float((gradient * gradient).sum())),
        every,
        few,
        sums.top,
        *(sums.slopes / sums.few),
    )


def directions(shape: NetworkShape) -> Floats:
    """(DIRECTIONS, p), of length 1: signs drawn by a hash; a bias that is not learnt stays."""
    return _drawn(tuple(shape.widths), shape.output_bias)


@lru_cache(maxsize=2)
def _drawn(widths: tuple[int, ...], output_bias: bool) -> Floats:
    p = count(widths)
    signs = np.stack([np.where(row_keys(0, p, SEED + k) & np.uint64(1), 1.0, -1.0) for k in range(DIRECTIONS)])
    if not output_bias:
        signs[:, p - widths[-1] :] = 0.0
    found: Floats = signs / np.sqrt((signs * signs).sum(axis=1, keepdims=True))
    return found


def _absorb(task: NetworkTask, numbers: Floats, every: int, few: int, workers: int, block: Block) -> MeasureSums:
    from assay.families.networks.training import Trainer

    numbers, shape, kept = np.require(numbers, None, ["C", "A"]), task.shape, keep(task, block)
    if not len(kept.target):
        return MeasureSums(0.0, 0.0, 0.0, 0.0, np.zeros(len(numbers)), 0.0, np.zeros((4, DIRECTIONS)), 0.0)
    trainer = Trainer(shape, task.loss, unpacked(shape.widths, numbers), np.float64, Threads(1))
    pieces = [partial(_losses, task, trainer, kept, first) for first in range(0, len(kept.target), AT_A_TIME)]
    work: list[Callable[[], Any]] = [partial(_sloped, task, trainer, numbers, kept, every, few), *pieces]
    workers = workers if len(kept.target) * len(numbers) > MUCH else 1
    sloped, *losses = Threads(workers).map(_call, work)
    weight, loss, wrong = np.add.accumulate(losses)[-1].tolist()
    return MeasureSums(weight, loss, wrong, *sloped)


def _call(work: Callable[[], Any]) -> Any:
    return work()


def _sloped(
    task: NetworkTask, trainer: Trainer, numbers: Floats, kept: UnpreparedRows, every: int, few: int
) -> tuple[float, Floats, float, Floats, float]:
    """Of some rows Σ c and the gradient; of few Σ c, slopes and differences, and the greatest |f|."""
    shape = task.shape
    some, picked = (_standardised(task, kept, slice(None, None, step)) for step in (every, few))
    gradient, slope = (packed(shape.layers(trainer.gradient(rows)[1])) for rows in (some, picked))
    U, slopes = directions(shape), np.empty((4, DIRECTIONS))
    slopes[0] = [float((u * slope).sum()) for u in U]
    slopes[1:] = _differences(task, numbers, U, picked)
    top = float(np.abs(trainer.outputs(picked.X)).max())
    return float(some.weights.sum()), gradient, float(picked.weights.sum()), slopes, top


def _losses(task: NetworkTask, trainer: Trainer, kept: UnpreparedRows, first: int) -> Floats:
    """Σ c, Σ c ℓ and Σ c [wrong] of a piece of the rows."""
    ready = _standardised(task, kept, slice(first, first + AT_A_TIME))
    F, c, y = trainer.outputs(ready.X), ready.weights, _target(task, ready)
    with np.errstate(over="ignore", invalid="ignore"):
        loss = (c * architecture.losses(task.loss, F, y)).sum()
    return np.array([c.sum(), loss, 0.0 if task.labels is None else (c * architecture.wrong(F, y)).sum()])


def _merge(a: MeasureSums, b: MeasureSums) -> MeasureSums:
    return MeasureSums(
        a.weight + b.weight,
        a.loss + b.loss,
        a.wrong + b.wrong,
        a.some + b.some,
        a.gradient + b.gradient,
        a.few + b.few,
        a.slopes + b.slopes,
        max(a.top, b.top),
    )


def _standardised(task: NetworkTask, kept: UnpreparedRows, piece: slice) -> NetworkRows:
    X, target, c = kept.X[piece], kept.target[piece], None if kept.c is None else kept.c[piece]
    numbers, codes = (None, target) if task.labels is not None else (task.standard.numbers(target), None)
    return prepare(task.shape, X, codes, numbers, c, np.float64, task.standard.columns)


def _target(task: NetworkTask, rows: NetworkRows) -> Array:
    return rows.codes if task.labels is not None else rows.targets


def _differences(task: NetworkTask, numbers: Floats, U: Floats, rows: NetworkRows) -> Floats:
    """Σ c of the lesser and the greater of each row's two differences, and of their size: (3, DIRECTIONS)."""
    shape, y = task.shape, _target(task, rows)
    X, c, found = rows.X[:, : shape.widths[0]], rows.weights, np.zeros((3, len(U)))

    def losses(at: Floats) -> Floats:
        return architecture.losses(task.loss, architecture.outputs(unpacked(shape.widths, at), shape.activation, X), y)

    with np.errstate(over="ignore", invalid="ignore"):
        middle = losses(numbers)
        for k, u in enumerate(U):
            ahead, behind = (losses(numbers + STEP * u) - middle) / STEP, (middle - losses(numbers - STEP * u)) / STEP
            found[0, k], found[1, k] = (c * np.minimum(ahead, behind)).sum(), (c * np.maximum(ahead, behind)).sum()
            found[2, k] = (c * np.maximum(np.abs(ahead), np.abs(behind))).sum()
    return found
