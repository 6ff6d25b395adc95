"""What a certificate covers: which learnt numbers its claims tie to the rows, by a proof, by an estimate, or not at all.

A number is tied by a proof where no other value of it, noticeably different, could stand in its place and be verified.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, NamedTuple

from assay.certify.claim import Claim

INDENT = " " * 17
TITLES = {"proof": "by proof", "estimate": "by estimate", "nothing": "by nothing"}


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
