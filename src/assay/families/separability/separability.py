"""Whether a hyperplane separates the classes of a table, by what margin, and the evidence either way.

    γ = max_{w, b} min_i s_i (w·x_i + b) / ‖w‖,    R = max_i ‖x_i‖

A perceptron makes at most (radius / greatest margin)² mistakes, both in the space in which it runs: that of x̃ = (1, x), R̃²/γ̃², or without an
intercept that of x itself, R²/γ² of hyperplanes through the origin (b = 0). Radius and margin of different spaces bound nothing.

The greatest of two classes is s = +1. More than two classes are separable where each is from all the others together.
Shape: repeated fold, over few rounds (solvers/separation/separation.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.certify import Certificate, Claim
from assay.engines import Engine, Rows, engine_for
from assay.errors import DataError, OneClassError
from assay.inputs import as_rows
from assay.inputs.labels import Labels, find_classes, plain_labels
from assay.numerics import Array, Floats
from assay.solvers.separation.separation import Separation, separate

PROVED_GAP = 1e-2  # a wider gap is not claimed to be a margin
ROUNDING = 2.0**-46  # of the radius and the columns: what rounding may do to a margin
ROUGHEST = 1e-2  # of the margin: where rounding may hide more, no margin is claimed to be the greatest
SHOWN = 12


def separation_claims(found: Separation, positive: Any) -> tuple[Claim, ...]:
    """Claims with their witnesses; `positive` is the label of the class that is +1."""
    if found.separable is None:
        return ()
    return _margin_claims(found, positive) if found.separable else _hull_claims(found, positive)


def _plane(found: Separation, positive: Any) -> dict[str, Any]:
    return {"coef": found.coef, "intercept": found.intercept, "space": found.space, "positive": positive}


def _support(found: Separation) -> dict[str, Any]:
    return {"rows": found.rows, "weights": found.weights}


def _margin_claims(found: Separation, positive: Any) -> tuple[Claim, ...]:
    length = "‖(b, w)‖" if found.space == "augmented" else "‖w‖"
    plane = _plane(found, positive)
    claims = [
        Claim(
            name=f"separable: {positive!r} from the rest",
            statement=f"a hyperplane has every row on its side: s(w·x + b)/{length} ≥ γ > 0",
            holds=True,
            check="separability_hyperplane",
            value=found.margin,
            witness=plane,
        )
    ]
    if found.gap <= PROVED_GAP and is_clear(found):
        claims.append(
            Claim(
                name=f"greatest margin: {positive!r} from the rest",
                statement=f"no margin passes γ by more than the gap: {len(found.rows)} support rows have hulls no further apart",
                holds=True,
                check="separability_margin",
                value=found.gap,
                bound=max(found.gap, 1e-9),
                witness={**plane, **_support(found)},
            )
        )
    return tuple(claims)


def is_clear(found: Separation) -> bool:
    """Whether rounding hides next to nothing of the margin."""
    return ROUNDING * (len(found.coef) + 4) * found.radius <= ROUGHEST * found.margin


def _hull_claims(found: Separation, positive: Any) -> tuple[Claim, ...]:
    claims = [
        Claim(
            name=f"not separable: {positive!r} from the rest",
            statement=f"the hulls of {len(found.rows)} rows meet: Σα₊x₊ = Σα₋x₋ with convex weights (Kirchberger, Farkas)",
            holds=True,
            check="separability_hulls",
            value=len(found.rows),
            kind="proof" if found.exact else "estimate",
            witness={**_support(found), "space": found.space, "positive": positive},
        )
    ]
    if found.weak:
        claims.append(
            Claim(
                name=f"weakly separable: {positive!r} from the rest",
                statement="a direction has s(w·x + b) ≥ 0 for all rows (to rounding) and > 0 for some: without penalty, "
                "logistic regression has no maximum-likelihood solution",
                holds=True,
                check="separability_weak",
                kind="warning",
                witness=_plane(found, positive),
            )
        )
    return tuple(claims)


def bound_claim(found: Separation, positive: Any) -> Claim:
    """Novikoff's bound on the perceptron's mistakes, from a separation in the space in which it runs: augmented, or without an
    intercept linear."""
    statement = "a perceptron makes at most R̃²/γ̃² mistakes, x̃ = (1, x), R̃ = max ‖x̃‖, γ̃ the margin there (Novikoff)"
    if found.space == "linear":
        statement = "a perceptron without intercept makes at most R²/γ² mistakes, R = max ‖x‖, γ the margin (Novikoff)"
    return Claim(
        name=f"perceptron's mistakes: {positive!r} from the rest",
        statement=statement,
        holds=True,
        check="separability_bound",
        value=mistake_bound(found),
        witness=_plane(found, positive),
    )


def mistake_bound(found: Separation) -> float:
    """R²/γ² in the space of the separation."""
    return (found.radius / found.margin) ** 2


class SeparatingHyperplane(NamedTuple):
    """w·x + b > 0 for rows of the greater class, < 0 for the others; ‖w‖ = 1."""

    coef: Floats
    intercept: float


class Overlap(NamedTuple):
    """Rows of both sides (+1, −1) and convex weights with which Σα₊x₊ = Σα₋x₋."""

    rows: Array
    sides: Array
    weights: Floats


@dataclass(frozen=True)
class Separability:
    """The verdict on rows of some classes.

    `separable` True: `witness` is the `Hyperplane` of greatest `margin`. False: it is an `Overlap`, at most d + 2 rows whose
    hulls meet, and `margin` is 0; `weak` tells whether some direction has all rows on their side or on the border, not all
    of them on it. None: rounding hides the answer, as `reason` says. `radius` R = max ‖x‖, `bound` = R̃²/γ̃² (with `fit_intercept` False R²/γ²),
    the most mistakes of a perceptron (∞ where not separable). `gap` is how far, relatively, the margin may be from the greatest.
    With more than two classes `per_class` holds the verdict for each against the others; the margin is then the least of
    theirs, `witness` that of the first class that is not separable, else of the one with the least margin, and `weak` tells
    whether any class is weakly separable from the others. `positive` is the class that is s = +1 in the witness.
    """

    separable: bool | None
    witness: SeparatingHyperplane | Overlap
    margin: float
    radius: float
    bound: float
    weak: bool | None
    gap: float
    support: Overlap
    reason: str
    classes: tuple[Any, ...]
    positive: Any
    certificate: Certificate = field(repr=False)
    per_class: dict[Any, Separability] | None = field(default=None, repr=False)
    fit_intercept: bool = True

    @property
    def ratio(self) -> float:
        """The same as `bound`: R²/γ² in the space in which the perceptron runs (∞ where not separable)."""
        return self.bound

    def __str__(self) -> str:
        if self.per_class is None:
            return "\n".join(_described(self))
        head = f"separable: {_answer(self.separable)} (each class from all the others)"
        return "\n".join([head, *(f"{c!r}: {line}" for c, v in self.per_class.items() for line in _described(v))])


def _answer(separable: bool | None) -> str:
    return {True: "yes", False: "no", None: "undecided"}[separable]


def _listed(rows: Array, weights: Floats) -> str:
    shown = ", ".join(f"{i} ({a:.3g})" for i, a in zip(rows[:SHOWN].tolist(), weights[:SHOWN].tolist()))
    return shown + (f", … ({len(rows)} in all)" if len(rows) > SHOWN else "")


def _side(v: Separability, side: int) -> str:
    if side == 1:
        return f"class {v.positive!r}"
    return f"class {v.classes[0]!r}" if len(v.classes) == 2 else "the others"


def _described(v: Separability) -> list[str]:
    lines = [f"separable: {_answer(v.separable)}"]
    if v.separable:
        through = "" if v.fit_intercept else " of hyperplanes through the origin"
        lines += [
            f"margin γ = {v.margin:.6g}{through} (relative gap {v.gap:.1e}), radius R = {v.radius:.6g}",
            _said_of_mistakes(v),
        ]
        what = "support rows (weight)"
    elif v.separable is None:
        lines.append(v.reason)
        what = "nearest rows (weight)"
    else:
        weak = {True: "yes", False: "no", None: "not decided"}[v.weak]
        lines.append(
            f"weakly separable: {weak} (all rows on their side or the border, not all on it); R = {v.radius:.6g}"
        )
        what = "rows whose hulls meet (weight)"
    for side in (1, -1):
        at = v.support.sides == side
        lines.append(f"{what}, {_side(v, side)}: {_listed(v.support.rows[at], v.support.weights[at])}")
    return lines


def _said_of_mistakes(v: Separability) -> str:
    if not v.fit_intercept:
        return f"a perceptron without intercept makes at most R²/γ² = {v.bound:.6g} mistakes"
    lifted = math.hypot(1.0, v.radius)
    return (
        f"a perceptron makes at most R̃²/γ̃² = {v.bound:.6g} mistakes (x̃ = (1, x), R̃ = {lifted:.6g}, "
        f"γ̃ = {lifted / math.sqrt(v.bound):.6g})"
    )


@dataclass(frozen=True)
class Margin:
    """The greatest margin γ, R = max ‖x‖, the perceptron's bound (`ratio` is the same), the hyperplane and its support rows."""

    margin: float
    radius: float
    ratio: float
    bound: float
    gap: float
    coef: Floats
    intercept: float
    support: Overlap
    certificate: Certificate = field(repr=False)

    def __float__(self) -> float:
        return self.margin


def separability(X: Any, y: Any = None, sample_weight: Any = None, *, fit_intercept: bool = True) -> Separability:
    """Whether a hyperplane separates the classes, with the evidence; rows of weight 0 do not count.

    `fit_intercept` False asks for a hyperplane through the origin, as the notes' theorem on the perceptron has it.

    >>> print(separability([[0.0], [1.0], [3.0]], [0, 0, 1]))
    separable: yes
    margin γ = 1 (relative gap 0.0e+00), radius R = 3
    a perceptron makes at most R̃²/γ̃² = 50 mistakes (x̃ = (1, x), R̃ = 3.16228, γ̃ = 0.447214)
    support rows (weight), class 1: 2 (1)
    support rows (weight), class 0: 1 (1)
    >>> separability([[0.0], [1.0], [3.0]], [0, 1, 0]).witness.rows
    array([0, 1, 2])
    """
    engine, rows, labels = _opened(X, y, sample_weight)
    classes = plain_labels(labels.classes)
    if len(classes) == 2:
        return _verdict(engine, rows, labels, 1, fit_intercept)
    each = {c: _verdict(engine, rows, labels, k, fit_intercept) for k, c in enumerate(classes)}
    return _together(each, rows, labels)


def margin(X: Any, y: Any = None, sample_weight: Any = None, *, fit_intercept: bool = True) -> Margin:
    """The greatest margin between two classes; an error that names the rows where no hyperplane separates them.

    >>> margin([[0.0], [1.0], [3.0]], [0, 0, 1]).margin
    1.0
    """
    engine, rows, labels = _opened(X, y, sample_weight)
    if len(labels.classes) > 2:
        raise DataError(
            f"y has {len(labels.classes)} classes, and a margin lies between two: pick the rows of two classes, or ask "
            "separability(X, y) for each class against the others."
        )
    v = _verdict(engine, rows, labels, 1, fit_intercept)
    if not isinstance(v.witness, SeparatingHyperplane):
        why = v.reason if v.separable is None else "the hulls of the two classes meet"
        raise DataError(
            f"There is no margin: {why} (rows {_listed(v.support.rows, v.support.weights)}, with their weights). "
            "Look at separability(X, y), or fit a model that bears rows on the wrong side."
        )
    return Margin(v.margin, v.radius, v.ratio, v.bound, v.gap, *v.witness, v.support, v.certificate)


def _opened(X: Any, y: Any, sample_weight: Any) -> tuple[Engine, Rows, Labels]:
    rows = as_rows(X, y, sample_weight, sparse=True)
    if not rows.has_target:
        raise DataError(
            "separability needs the classes: give (X, y), or name the target in assay.rows(..., target=...)."
        )
    if rows.categories is not None:
        names = rows.names or tuple(f"number {j}" for j in range(rows.n_columns))
        text = [name for name, levels in zip(names, rows.categories) if levels is not None]
        if text:
            raise DataError(
                f"Column {text[0]!r} holds text, and a hyperplane needs numbers: leave it out (features=[…], --features in "
                "the shell) or encode it as numbers."
            )
    engine = engine_for(rows)
    rows = engine.open(rows)
    classes = find_classes(engine, rows)
    if len(classes) < 2:
        raise OneClassError(f"y has only one class, {plain_labels(classes)[0]!r}: there is nothing to separate.")
    return engine, rows, Labels.of(classes)


def _verdict(engine: Engine, rows: Rows, labels: Labels, k: int, fit_intercept: bool) -> Separability:
    """Class k against all others."""
    found = separate(engine, rows, labels, space="affine" if fit_intercept else "linear", positive=k)
    label = plain_labels(labels.classes)[k]
    claims, bound = separation_claims(found, label), float("inf")
    if found.separable:
        lifted = separate(engine, rows, labels, space="augmented", positive=k) if fit_intercept else found
        if lifted.separable:
            bound = mistake_bound(lifted)
            claims = (*claims, bound_claim(lifted, label)) if is_clear(lifted) else claims
    support = Overlap(found.rows, found.sides, found.weights)
    return Separability(
        separable=found.separable,
        witness=SeparatingHyperplane(found.coef, found.intercept) if found.separable else support,
        margin=found.margin,
        radius=found.radius,
        bound=bound,
        weak=found.weak,
        gap=found.gap,
        support=support,
        reason=found.reason,
        classes=tuple(plain_labels(labels.classes)),
        positive=label,
        certificate=_certificate(claims, rows, labels),
        fit_intercept=fit_intercept,
    )


def _certificate(claims: tuple[Claim, ...], rows: Rows, labels: Labels) -> Certificate:
    return Certificate(claims, names=rows.names, classes=labels.classes, sparse=True)


def _together(each: dict[Any, Separability], rows: Rows, labels: Labels) -> Separability:
    """The verdict on all classes: that of the first that cannot be separated, else of the least margin."""
    verdicts = list(each.values())
    answers = [v.separable for v in verdicts]
    separable = False if False in answers else None if None in answers else True
    worst = (
        min(verdicts, key=lambda v: v.margin) if separable else next(v for v in verdicts if v.separable == separable)
    )
    claims = tuple(claim for v in verdicts for claim in v.certificate.claims)
    return Separability(
        separable=separable,
        witness=worst.witness,
        margin=worst.margin if separable else 0.0,
        radius=worst.radius,
        bound=max(v.bound for v in verdicts),
        weak=None if any(v.weak is None for v in verdicts) else any(v.weak for v in verdicts),
        gap=max(v.gap for v in verdicts),
        support=worst.support,
        reason=worst.reason,
        classes=tuple(plain_labels(labels.classes)),
        positive=worst.positive,
        certificate=_certificate(claims, rows, labels),
        per_class=each,
        fit_intercept=worst.fit_intercept,
    )
