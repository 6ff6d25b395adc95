"""A claim: one theorem made concrete for one fit, with the witness that proves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Kind = Literal["proof", "estimate", "warning"]


@dataclass(frozen=True)
class Claim:
    """`value` against `bound` (where there is one), and the evidence.

    `check` names the independent checker that re-establishes the claim from the rows and the witness alone.
    `kind`: a *proof* is verified up to the stated tolerance, an *estimate* holds with a stated confidence, and a
    *warning* tells of something the user should know.
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
