"""The certificate of a fit: its claims, how to print them, and how to have them re-checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from assay.certify.checks import checker
from assay.certify.claim import Claim, Verdict
from assay.engines import Rows, engine_for, split_rows
from assay.errors import AssayError
from assay.inputs import Levels, as_rows

ON_HELD_OUT = ("held_out_error", "held_out_loss")
WIDTH = 96
INDENT = " " * 17
MARKS = {True: "holds", False: "FAILS"}


UNUSABLE = (AssayError, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


def _about_the_same(claim: Claim, own: Claim) -> bool:
    """Whether the arrays of a witness are those of the model (but for the rounding of another machine)."""
    arrays = {key: array for key, array in own.witness.items() if isinstance(array, np.ndarray)}
    return claim.check == own.check and all(_agree(claim.witness.get(key), array) for key, array in arrays.items())


def _agree(there: Any, array: np.ndarray[Any, Any]) -> bool:
    try:
        there = np.asarray(there, dtype=array.dtype)
        return there.shape == array.shape and bool(np.all(there == array) or _close(there, array))
    except (OverflowError, TypeError, ValueError):
        return False


def _close(there: Any, array: Any) -> bool:
    return array.dtype.kind == "f" and bool(np.allclose(there, array, rtol=1e-9, atol=1e-12, equal_nan=True))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


@dataclass(frozen=True)
class Verdicts:
    """The outcome of a verification: one verdict a claim."""

    verdicts: tuple[Verdict, ...]

    @property
    def holds(self) -> bool:
        """Whether every claim was established; where there are none, nothing was."""
        return bool(self.verdicts) and all(v.holds for v in self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __str__(self) -> str:
        return "\n".join(f"{MARKS[v.holds]:<6} {v.kind:<9} {v.claim}: {v.reason}" for v in self.verdicts)


@dataclass(frozen=True)
class Certificate:
    """What is proved, estimated or to be warned of about one fit.

    `split` (share, seed): the fit saw only its side of the table; `verify` gets the whole table and splits it again.
    `own` makes the claims anew from the parts with which the model answers: a witness must be about those.
    """

    claims: tuple[Claim, ...]
    predict: Callable[[Any], Any] | None = None
    names: tuple[str, ...] | None = None
    levels: Levels | None = None
    split: tuple[float, int] | None = None
    own: Callable[[], tuple[Claim, ...]] | None = field(default=None, repr=False)

    @property
    def holds(self) -> bool:
        """Whether every claim held when the fit was made. `verify` re-establishes them from the rows."""
        return all(c.holds for c in self.claims)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __getitem__(self, name: str) -> Claim:
        for claim in self.claims:
            if claim.name == name:
                return claim
        raise KeyError(f"No claim {name!r}; there are: {', '.join(c.name for c in self.claims)}")

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Verdicts:
        """Re-check every claim from the rows it speaks of and its witness, with plain NumPy."""
        rows = as_rows(X, y, sample_weight, categories=self.levels is not None, levels=self.levels)
        rows = rows.fitted_to(self.names, self.levels)
        rows = engine_for(rows).open(rows)
        seen, held_out = (rows, None) if self.split is None else split_rows(rows, *self.split)
        own = self._own_claims()
        verdicts = [
            self._verdict(claim, own, held_out if held_out is not None and claim.check in ON_HELD_OUT else seen)
            for claim in self.claims
        ]
        there = {claim.name for claim in self.claims}
        gone = [
            Verdict(name, False, "the claim is missing", kind=c.kind) for name, c in own.items() if name not in there
        ]
        return Verdicts((*verdicts, *gone))

    def _own_claims(self) -> dict[str, Claim]:
        try:
            with np.errstate(all="ignore"):
                return {} if self.own is None else {claim.name: claim for claim in self.own()}
        except UNUSABLE as error:
            reason = f"the model's parts do not fit together: {error}"
            return {"the model's own claims": Claim("the model's own claims", reason, False, "")}

    def _verdict(self, claim: Claim, own: dict[str, Claim], rows: Rows) -> Verdict:
        check = checker(claim.check)
        if check is None:
            return Verdict(claim.name, False, f"no checker is known for {claim.check!r}", kind=claim.kind)
        if claim.name in own and not _about_the_same(claim, own[claim.name]):
            return Verdict(claim.name, False, "the witness is not about the parts of this model", kind=claim.kind)
        try:
            with np.errstate(all="ignore"):  # numbers that make no sense fail their comparison
                return check(claim, rows, self.predict)
        except UNUSABLE as error:  # a witness that cannot even be evaluated proves nothing
            return Verdict(claim.name, False, f"the witness cannot be checked: {error}", kind=claim.kind)

    def __str__(self) -> str:
        lines = []
        for c in self.claims:
            bound = f" (bound {_number(c.bound)})" if c.bound is not None else ""
            value = f": {_number(c.value)}{bound}" if c.value is not None else ""
            lines.append(f"{MARKS[c.holds]:<6} {c.kind:<9} {c.name}{value}")
            lines += wrap(c.statement, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
        return "\n".join(lines) or "no claims"

    def _repr_html_(self) -> str:
        head = "<tr><th>claim</th><th>kind</th><th>holds</th><th>value</th><th>bound</th><th>statement</th></tr>"
        body = "".join(
            f"<tr><td>{escape(c.name)}</td><td>{c.kind}</td><td>{'yes' if c.holds else '<b>no</b>'}</td>"
            f"<td>{_number(c.value)}</td><td>{_number(c.bound)}</td><td>{escape(c.statement)}</td></tr>"
            for c in self.claims
        )
        return f"<table>{head}{body}</table>"
