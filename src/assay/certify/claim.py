"""A claim: one theorem made concrete for one fit, with the witness that proves it.

Of some fits nobody asks for a certificate: those of a search and of folds answer some rows and are gone (`unclaimed`). Such a fit makes its claims when
somebody asks for them all the same. What it would measure for them alone, and cannot measure later without the rows, is left out, and so are the claims
that rest on it.

What the claims cover (`Coverage`): which learnt numbers they tie to the rows, by a proof, by an estimate, or not at all. A number is tied by a
proof where no other value of it, noticeably different, could stand in its place and be verified.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, Literal, NamedTuple

import numpy as np

Kind = Literal["proof", "estimate", "warning"]
_unclaimed: ContextVar[bool] = ContextVar("unclaimed", default=False)
INDENT = " " * 17
TITLES = {"proof": "by proof", "estimate": "by estimate", "nothing": "by nothing"}


@dataclass(frozen=True)
class Claim:
    """`value` against `bound` (where there is one), and the evidence.

    `check` names the independent checker that re-establishes the claim from the rows and the witness alone.
    `kind`: a proof is verified up to the stated tolerance, an estimate holds with a stated confidence, and a
    warning tells of something the user should know.
    """

    name: str
    statement: str
    holds: bool
    check: str
    value: float | None = None
    bound: float | None = None
    kind: Kind = "proof"
    witness: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("value", "bound"):  # a file gives floats back, so they are floats from the start
            number = getattr(self, name)
            if isinstance(number, int | np.number):
                object.__setattr__(self, name, float(number))


@dataclass(frozen=True)
class Verdict:
    """What a checker found: whether the claim holds, the value it measured, and why."""

    claim: str
    holds: bool
    reason: str
    value: float | None = None
    kind: Kind = "proof"


# Whether a claim says what it must: word for word, and in numbers but for the rounding of another machine.

RELATIVE = 1e-6  # what value and bound may be off by
NOISE = 1e-2  # a value that is rounding may differ by this share of its bound from one machine to another


def differs_in(claim: Claim, due: Claim, noise: float = NOISE) -> str | None:
    """The part in which a claim is not the one that is due, or None.

    A value without a bound must be close to the one that is due; one with a bound may differ by `noise`·bound besides.
    """
    if claim.check != due.check or not _same_witness(claim.witness, due.witness):
        return "witness"
    for part in ("name", "statement", "kind", "holds"):
        if getattr(claim, part) != getattr(due, part):
            return part
    if not _near(claim.bound, due.bound):
        return "bound"
    return None if _near(claim.value, due.value, noise * abs(due.bound or 0.0)) else "value"


def _near(there: Any, due: float | None, slack: float = 0.0) -> bool:
    if there is None or due is None:
        return there is due
    return there == due or (isinstance(there, float) and math.isclose(there, due, rel_tol=RELATIVE, abs_tol=slack))


def _same_witness(there: dict[str, Any], due: dict[str, Any]) -> bool:
    """Whether the witnesses have the same entries; numbers may differ by rounding."""
    return there.keys() == due.keys() and all(_same(there[key], entry) for key, entry in due.items())


def _same(there: Any, due: Any) -> bool:
    if isinstance(due, np.ndarray):
        return _same_array(there, due)
    if isinstance(due, list | tuple):
        return isinstance(there, list | tuple) and len(there) == len(due) and all(map(_same, there, due))
    if isinstance(due, float | np.floating) and isinstance(there, int | float | np.number):
        return not isinstance(there, bool) and _same_array(there, np.asarray(due, dtype=np.float64))
    if isinstance(there, np.ndarray) or isinstance(there, bool | np.bool_) != isinstance(due, bool | np.bool_):
        return False
    return bool(there == due)


def _same_array(there: Any, due: np.ndarray[Any, Any]) -> bool:
    """Neither is cut to the other's type: 1.44 is not 1 because a file says that the model has whole numbers."""
    try:
        there = np.asarray(there, dtype=np.float64 if due.dtype.kind == "f" else None)
        return there.shape == due.shape and bool(np.all(there == due) or _close(there, due))
    except (OverflowError, TypeError, ValueError):
        return False


def _close(there: Any, due: Any) -> bool:
    return due.dtype.kind == "f" and bool(np.allclose(there, due, rtol=1e-9, atol=1e-12, equal_nan=True))


@contextmanager
def unclaimed() -> Iterator[None]:
    """Within, fits of this thread leave out what only their claims need.

    >>> with unclaimed():
    ...     claims_are_wanted()
    False
    """
    before = _unclaimed.set(True)
    try:
        yield
    finally:
        _unclaimed.reset(before)


def claims_are_wanted() -> bool:
    """Whether somebody may ask for the certificate of a fit that is made now."""
    return not _unclaimed.get()


@dataclass(frozen=True)
class Coverage:
    """Declared beside the claims of a family: {names of checks: names of the parts of the layout that these tie to the rows}, names
    parted by blanks; `nothing`: the parts that no check does; `but`: what is left open all the same, in words."""

    proof: Mapping[str, str] = field(default_factory=dict)
    estimate: Mapping[str, str] = field(default_factory=dict)
    nothing: str = ""
    but: str = ""

    def named(self) -> list[str]:
        """Every part that is declared, as often as it is."""
        return [
            name for names in (*self.proof.values(), *self.estimate.values(), self.nothing) for name in names.split()
        ]

    def within(self, parts: Collection[str]) -> Coverage:
        """The same of some parts, as of a model that has fewer than its kin."""

        def kept(names: str) -> str:
            return " ".join(name for name in names.split() if name in parts)

        proof, estimate = (
            {checks: kept(names) for checks, names in tied.items() if kept(names)}
            for tied in (self.proof, self.estimate)
        )
        return Coverage(proof, estimate, kept(self.nothing), self.but)

    def declared(self, parts: Collection[str]) -> Covers:
        """What is covered of the parts of a model where all claims are made."""
        kinds = " ".join(self.proof.values()), " ".join(self.estimate.values()), self.nothing
        proof, estimate, nothing = (tuple(name for name in names.split() if name in parts) for names in kinds)
        return Covers(proof, estimate, nothing, self.but)

    def of(self, claims: Iterable[Claim], parts: Collection[str]) -> Covers:
        """What these claims cover of the parts that a model has; one that does not hold covers nothing."""
        kinds: dict[str, set[str]] = {}
        for claim in claims:
            if claim.holds:
                kinds.setdefault(claim.check, set()).add(claim.kind)
        proof, estimate = (_tied(tied, kinds) for tied in (self.proof, self.estimate))
        firm = [name for name in parts if proof.get(name, set()) - {"estimate"}]
        rough = [name for name in parts if name not in firm and (proof.get(name) or estimate.get(name))]
        rest = [name for name in parts if name not in firm and name not in rough]
        return Covers(tuple(firm), tuple(rough), tuple(rest), self.but)


def _tied(declared: Mapping[str, str], kinds: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Of each part the kinds of the claims that tie it to the rows."""
    found: dict[str, set[str]] = {}
    for checks, names in declared.items():
        there = set().union(*(kinds.get(check, set()) for check in checks.split()))
        for name in names.split():
            found[name] = there
    return found


class Covers(NamedTuple):
    """The learnt numbers, each once: those tied to the rows by a proof, by an estimate, by nothing; and what is left open all the same."""

    proof: tuple[str, ...] = ()
    estimate: tuple[str, ...] = ()
    nothing: tuple[str, ...] = ()
    but: str = ""

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {**{kind: list(getattr(self, kind)) for kind in TITLES}, "but": self.but}

    def lines(self) -> list[str]:
        """A line a kind, as {title}: {names}, and what is left open."""
        kinds = [f"{title}: {', '.join(names)}" for kind, title in TITLES.items() if (names := getattr(self, kind))]
        return [*kinds, *([f"left open: {self.but}"] if self.but else [])]

    def __str__(self) -> str:
        first = f"{'covers':<{len(INDENT)}}"
        lines = [part for line in self.lines() for part in wrap(line, 96 - len(INDENT), subsequent_indent="  ")]
        return "\n".join((INDENT if k else first) + line for k, line in enumerate(lines))
