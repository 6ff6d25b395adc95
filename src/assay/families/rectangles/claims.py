"""What is proved of rectangles: tightest, of least error, or not to be improved in one column; the PAC bound; what they answer."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.inputs.labels import plain_labels

if TYPE_CHECKING:
    from assay.families.rectangles.estimators import RectangleClassifier

DELTA = 0.05
SHOWN = 10  # classes that a statement tells of one by one


COVERAGE = Coverage(
    proof={
        "rectangle_tightest rectangle_least_error rectangle_local": "lower_ upper_",
        "rectangle_answers": "owner_ unit_ class_factor_ class_rows_ cells_ methods_ shift_ rows_ rounded_",
        "rectangle_local rectangle_least_error": "won_ lost_",
        "rectangle_tightest": "won_rows_ lost_rows_",
    },
)


def pac_error(rows: int, d: int, delta: float = DELTA) -> float:
    """ε with rows = (2d/ε)·log(2d/δ): the error that as many rows rule out for the tightest rectangle.

    >>> round(pac_error(1000, 2), 4)
    0.0175
    """
    return 2 * d * log(2 * d / delta) / rows


def claims_of(model: RectangleClassifier) -> tuple[Claim, ...]:
    """The claims of a fit, from the learnt parts alone."""
    by_method = {
        method: [k for k, used in zip(model._places().tolist(), model.methods_) if used == method]
        for method in ("tightest", "exact", "search")
    }
    made = [
        make(model, classes)
        for make, classes in (
            (_tightest, by_method["tightest"]),
            (_least_error, by_method["exact"]),
            (_local, [k for k in by_method["search"] if np.any(model.owner_ == k)]),
            (_bound, [k for k in model._places().tolist() if _is_consistent(model, k)]),
        )
        if classes
    ]
    return (*made, _answers(model))


def _is_consistent(model: RectangleClassifier, k: int) -> bool:
    """Whether one rectangle holds all rows of class k and no other: it is then the tightest."""
    mine = np.flatnonzero(model.owner_ == k)
    if len(mine) != 1 or not np.all(model.class_factor_ > 0):
        return False
    return bool(model.lost_rows_[mine[0]] == 0 and model.won_rows_[mine[0]] == model.class_rows_[k])


def _witness(model: RectangleClassifier, classes: list[int], **more: Any) -> dict[str, Any]:
    return {
        "classes": plain_labels(model.classes_),
        "places": model._places().tolist(),
        "of": classes,
        "lower": model.lower_,
        "upper": model.upper_,
        "owner": model.owner_,
        "factor": model.class_factor_,
        "shift": model.shift_,
        **more,
    }


def _each(model: RectangleClassifier, classes: list[int], describe: Any) -> str:
    names = plain_labels(model.classes_)
    told = [f"{names[k]!r}: {describe(k)}" for k in classes[:SHOWN]]
    return "; ".join([*told, f"and {len(classes) - SHOWN} more classes"] if len(classes) > SHOWN else told)


def _rounding(model: RectangleClassifier) -> str:
    if not model.rounded_:
        return ""
    most = float(np.ldexp(float(model.rows_), -model.shift_))
    return f" (weights are rounded to multiples of 2^{-model.shift_}, which moves no sum of weights by more than {most:.2g})"


def _tightest(model: RectangleClassifier, classes: list[int]) -> Claim:
    first = {k: int(np.flatnonzero(model.owner_ == k)[0]) for k in classes if np.any(model.owner_ == k)}

    def describe(k: int) -> str:
        if k not in first:
            return "no rows of positive weight, and no rectangle"
        held, others = int(model.won_rows_[first[k]]), int(model.lost_rows_[first[k]])
        if others == 0:
            return f"all {held} rows of the class inside and no other, so that its error of 0 is the least"
        return (
            f"all {held} rows of the class inside, and {others} others: no rectangle is right on all rows (every one that holds the "
            "class holds these), and the bound for the realisable case is not claimed"
        )

    return Claim(
        name="tightest",
        statement="no smaller rectangle holds all rows of the class, for on each side lies one of them. "
        + _each(model, classes, describe),
        holds=True,
        check="rectangle_tightest",
        value=sum(int(model.lost_rows_[r]) for r in first.values()),
        witness=_witness(model, classes, won_rows=model.won_rows_, lost_rows=model.lost_rows_),
    )


def _errors(model: RectangleClassifier) -> dict[int, float]:
    """The weighted share of the rows on which "is it class k?" is answered wrongly by the rectangles of k alone."""
    of_class = model.cells_.astype(np.float64).sum(axis=0)
    gain = dict.fromkeys(model._places().tolist(), 0.0)
    for k, won, lost in zip(model.owner_.tolist(), model.won_.tolist(), model.lost_.tolist()):
        gain[k] += won - lost
    return {k: float((of_class[k] - gain[k]) / of_class.sum()) for k in gain}


def _gained(model: RectangleClassifier, what: str, classes: list[int]) -> tuple[str, float]:
    errors = _errors(model)

    def describe(k: int) -> str:
        mine = np.flatnonzero(model.owner_ == k)
        gains = [f"{float(np.ldexp(float(model.won_[r] - model.lost_[r]), -model.shift_)):.6g}" for r in mine]
        many = f"gains {', '.join(gains)} in turn" if len(mine) > 1 else f"gain {gains[0]}" if gains else "no rectangle"
        return f"{many}, error {errors[k]:.6g}"

    return f"{what} {_each(model, classes, describe)}{_rounding(model)}", max(errors[k] for k in classes)


GAIN = "(gain: the weight of rows of the class less that of other rows inside, of rows that no rectangle before covers)"


def _least_error(model: RectangleClassifier, classes: list[int]) -> Claim:
    one = model.n_rectangles == 1
    what = (
        "no axis-aligned rectangle, nor none at all, has a lower weighted empirical error."
        if one
        else f"each rectangle in turn gains the most of all axis-aligned rectangles {GAIN}, and where there are fewer than "
        f"{model.n_rectangles} none gains anything any more."
    )
    statement, value = _gained(model, what, classes)
    return Claim(
        name="least error" if one else "greatest gains",
        statement=statement,
        holds=True,
        check="rectangle_least_error",
        value=value,
        witness=_witness(model, classes, won=model.won_, lost=model.lost_, most=int(model.n_rectangles)),
    )


def _local(model: RectangleClassifier, classes: list[int]) -> Claim:
    what = f"no change of the limits of a single column raises the gain of a rectangle {GAIN}; others may do better, as this was a search."
    statement, value = _gained(model, what, classes)
    return Claim(
        name="local optimum",
        statement=statement,
        holds=True,
        check="rectangle_local",
        value=value,
        witness=_witness(model, classes, won=model.won_, lost=model.lost_),
    )


def _bound(model: RectangleClassifier, classes: list[int]) -> Claim:
    n, d = model.rows_, model.n_features_in_
    epsilon = pac_error(n, d)
    names = [repr(plain_labels(model.classes_)[k]) for k in classes]
    more = ", …" if len(names) > SHOWN else ""
    which = names[0] if len(names) == 1 else f"each one by itself of {', '.join(names[:SHOWN])}{more}"
    says = f"is at most {epsilon:.4g}" if epsilon < 1 else f"is at most 1: {n} rows say nothing yet"
    return Claim(
        name="PAC bound",
        statement=f"if the {n} rows of positive weight are independent draws from one distribution, and if some rectangle is right on all "
        f"rows that can be drawn (the realisable case: these rows do not refute it, nor can they prove it), then with probability ≥ "
        f"{1 - DELTA:g} over the draw the error on a new row of the rectangle of class {which} against the rest {says}: n ≥ (2d/ε)·log(2d/δ) rows suffice "
        f"for the tightest rectangle, d = {d}, δ = {DELTA:g}",
        holds=True,
        check="rectangle_pac",
        value=epsilon,
        witness=_witness(model, classes, delta=DELTA, rows=int(n)),
    )


def _answers(model: RectangleClassifier) -> Claim:
    cells = model.cells_.astype(np.float64)
    error = float(1.0 - np.trace(cells) / cells.sum())
    return Claim(
        name="answers",
        statement=f"{error:.6g} of the weight of the {model.rows_} rows is answered wrongly; the probabilities are the weights of the classes among "
        f"the rows so answered, plus 1 each; depths are in units of the columns' ranges{_rounding(model)}",
        holds=True,
        check="rectangle_answers",
        value=error,
        witness=_witness(
            model,
            model._places().tolist(),
            unit=model.unit_,
            cells=model.cells_,
            rows=int(model.rows_),
            class_rows=model.class_rows_,
            rounded=bool(model.rounded_),
        ),
    )
