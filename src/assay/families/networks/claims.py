"""What is claimed of a fitted network, from the numbers that the fit has learnt; families/networks/check.py re-establishes it from the rows.

- back-propagation: slopes of the loss along some directions lie between its differences on both sides;
- training loss and training error: what the weights do on the rows of the fit;
- gradient: how long it is at the end, of the objective with its penalty. That is no claim of optimality: the objective is not convex;
- best epoch: of those recorded, an estimate, since none but another fit could repeat them.

Rows given piece by piece (`partial_fit`) are gone: then the epochs are all that is claimed.

What the weights do is measured in one fold over the blocks, in float64:

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

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows, block_rows, fold
from assay.engines.derived import row_keys
from assay.engines.engine import Threads, merge_in_order
from assay.families.networks import architecture
from assay.families.networks.architecture import DIRECTIONS, Layer, NetworkShape, count, hidden_sizes, packed, unpacked
from assay.families.networks.training_data import NetworkRows, NetworkTask, UnpreparedRows, keep, prepare
from assay.inputs.labels import plain_labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.networks.training import Trainer

MOST_ROWS, FEW_ROWS = 1 << 10, 1 << 7  # of which the gradient is taken, and differences
STEP, SEED = 1e-6, 0x6E6574
AT_A_TIME = 1 << 11
MUCH = 1 << 24  # rows times weights from which threads are worth their start
MANY = 4  # blocks a thread from which each takes whole ones: of fewer, one may be left with most of the rows
BOUND = 1e-6
LARGE = 1e4  # scores whose rounding may show in the length of a gradient
ROUNDING = 1e-2  # times 1 + |f|, as in the check


COVERAGE = Coverage(
    proof={"network_loss": "measured_ class_factor_"},
    estimate={"network_best_epoch": "best_epoch_"},
    nothing="weights_ mean_ scale_ target_mean_ target_scale_ loss_curve_ validation_scores_ n_iter_ earlier_ kept_best_ best_loss_ loss_ batch_ "
    "t_ rows_ weight_ converged_ whole_ memory_ batches_ zero_one_curve_ error_",
    but="what the weights do on the training rows is measured again, but not that these rows lead to these weights and no others: a unit "
    "that is silent on all of them may hold anything (a back door)",
)


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


def network_claims(model: Any) -> tuple[Claim, ...]:
    """All claims of a fitted network."""
    best = _best_epoch(model)
    if model.measured_ is None:
        return (best,)
    found, witness = Measured.of(model.measured_), _witness(model)
    slopes = _slopes(found, witness)
    claims = [slopes, _loss(model, found, witness)]
    if _classifies(model):
        claims.append(_errors(found, witness))
    return (*claims, _gradient(found, witness, slopes.holds), best)


def _classifies(model: Any) -> bool:
    return hasattr(model, "classes_")


def _witness(model: Any) -> dict[str, Any]:
    witness = {
        "weights": model.weights_,
        "mean": model.mean_,
        "scale": model.scale_,
        "measured": model.measured_,
        "hidden": [int(units) for units in hidden_sizes(model.hidden_layer_sizes)],
        "activation": model.activation,
        "output_bias": bool(model.output_bias),
        "loss": model._loss_name(),
        "alpha": float(model.alpha),
        "batch": 0 if model.solver == "lbfgs" else int(model.batch_),
    }
    if not _classifies(model):
        return {**witness, "target_mean": float(model.target_mean_), "target_scale": float(model.target_scale_)}
    factor = {} if model.class_factor_ is None else {"class_factor": model.class_factor_}
    return {**witness, "classes": plain_labels(model.classes_), **factor}


def _slopes(found: Measured, witness: dict[str, Any]) -> Claim:
    size = found.size + ROUNDING * (1.0 + found.top)
    off = float((np.maximum(0.0, np.maximum(found.low - found.slopes, found.slopes - found.high)) / size).max())
    which = "all rows" if found.few == 1 else f"every {_th(found.few)} row of each block"
    return Claim(
        name="back-propagation",
        statement=f"along {DIRECTIONS} directions the slopes of the mean loss of {which} agree with its finite differences on both sides, but for this "
        "share of their size",
        holds=off <= BOUND,
        check="network_slopes",
        value=off,
        bound=BOUND,
        witness=witness,
    )


def _loss(model: Any, found: Measured, witness: dict[str, Any]) -> Claim:
    objective = found.loss + 0.5 * found.penalty * found.squares
    held = ", those held out for early stopping among them" if model.validation_scores_ is not None else ""
    if _classifies(model):
        value, what = found.loss, f"the mean {model.loss} loss"
        inside = f"{objective:.6g} with the penalty"
    else:
        value, what = 2.0 * found.loss * float(model.target_scale_) ** 2, "the mean square error"
        inside = f"half of it with the penalty and the target standardised is {objective:.6g}"
    return Claim(
        name="training loss",
        statement=f"{what} on the rows of the fit{held}; {inside}",
        holds=True,
        check="network_loss",
        value=value,
        witness=witness,
    )


def _errors(found: Measured, witness: dict[str, Any]) -> Claim:
    return Claim(
        name="training error",
        statement="the zero-one risk on the rows of the fit: the (weighted) share that is answered wrongly; new rows will mostly do worse",
        holds=True,
        check="network_errors",
        value=found.wrong,
        witness=witness,
    )


def _gradient(found: Measured, witness: dict[str, Any], agrees: bool) -> Claim:
    """The length is that of a gradient if slopes agree with differences, which those of huge weights do not show."""
    which = "all rows" if found.every == 1 else f"every {_th(found.every)} row of each block"
    rounded = f" (with the rounding of scores up to {found.top:.3g} in it)" if found.top > LARGE else ""
    return Claim(
        name="gradient",
        statement=f"the length of the gradient of the objective on {which}, in standardised columns{rounded}; the objective is not convex, so that even a "
        "length of 0 would not tell whether another network of this shape does better",
        holds=agrees,
        check="network_gradient",
        value=found.gradient,
        witness=witness,
    )


def _best_epoch(model: Any) -> Claim:
    scores, curve, best = model.validation_scores_, model.loss_curve_, int(model.best_epoch_)
    if scores is None:
        value = float(curve[best - 1])
        statement = (
            f"of {len(curve)} epochs the loss was least in number {best}; the model has the weights after "
            f"{'it' if model.kept_best_ else 'the last one'}"
        )
    else:
        value = float(scores[best - 1])
        statement = (
            f"of {len(curve)} epochs number {best} answered the rows held out best, and the model has its weights"
        )
    ended = "" if model.converged_ else "; the fit ended before the loss had settled"
    return Claim(
        name="best epoch",
        statement=f"{statement}{ended} (as recorded: only another fit could tell)",
        holds=True,
        check="network_best_epoch",
        value=value,
        kind="estimate",
        witness={"curve": curve, "best": best, **({} if scores is None else {"scores": scores})},
    )


def _th(number: float) -> str:
    """
    >>> _th(2), _th(3), _th(11), _th(21)
    ('2nd', '3rd', '11th', '21st')
    """
    n = int(number)
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
