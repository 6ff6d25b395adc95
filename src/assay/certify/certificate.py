"""The certificate of a fit: its claims, how to print them, and how to have them re-checked.

Checkers are given the rows of any engine as plain blocks, and a model's answers to such blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Covers, Verdict, differs_in
from assay.certify.registry import checker
from assay.certify.rows import CheckedRows, CsrBlock, RowBlock
from assay.engines import Block, Part, Rows, SparseMatrix, engine_for, fold, rows_of, split_rows
from assay.engines.fingerprint import join, leaf_of
from assay.errors import AssayError, DataError
from assay.inputs import Levels, as_regression_target, as_rows
from assay.inputs.labels import Labels
from assay.numerics import Array

ON_HELD_OUT = ("held_out_error", "held_out_loss")
WIDTH = 96
INDENT = " " * 17
LONGEST_REASON = 500
NO_CLAIMS = "no claims"
MARKS = {True: "holds", False: "FAILS"}


UNUSABLE = (AssayError, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


def unusable(error: Exception) -> str:
    """Why a claim cannot be checked: a file may hold anything as a witness, so whatever a checker raises refuses the claim.

    That a table cannot be read says nothing of the claim: such an error goes on.
    """
    if isinstance(error, OSError) and not isinstance(error, AssayError):
        raise error
    return str(error)[:LONGEST_REASON] or type(error).__name__


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


@dataclass(frozen=True)
class Verdicts:
    """The outcome of a verification: one verdict a claim, and notes on which nothing depends."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every claim was established; where there are none, nothing was."""
        return bool(self.verdicts) and all(v.holds for v in self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __str__(self) -> str:
        lines = [f"{MARKS[v.holds]:<6} {v.kind:<9} {v.claim}: {v.reason}" for v in self.verdicts]
        return "\n".join([*lines, *(f"note   {note}" for note in self.notes)])


@dataclass(frozen=True)
class Certificate:
    """What is proved, estimated or to be warned of about one fit.

    `split` (share, seed): the fit saw only its side of the table; `verify` gets the whole table and splits it again.
    `own` makes the claims anew from the parts with which the model answers: the certificate must make those claims.
    `fingerprint` is that of the rows of the fit, whose target had these `classes` (None: numbers).
    `columns` is how many the model has: of rows with more or fewer nothing is claimed, and nothing is made anew of a number that a file claims.
    `covering` says what claims cover of the learnt numbers. `multi_output`: the target may be several columns.
    `sparse`: the checks take sparse rows, as `seen_as` makes of them what the fit saw. `verifier` does it all where the rows have to be encoded first.
    """

    claims: tuple[Claim, ...]
    predict: Callable[[Any], Any] | None = None
    names: tuple[str, ...] | None = None
    levels: Levels | None = None
    split: tuple[float, int] | None = None
    own: Callable[[], tuple[Claim, ...]] | None = field(default=None, repr=False)
    classes: Array | None = None
    fingerprint: str | None = None
    sparse: bool = False
    seen_as: Callable[[Rows], Rows] | None = field(default=None, repr=False)
    verifier: Callable[[Any, Any, Any], Verdicts] | None = field(default=None, repr=False)
    columns: int | None = None
    covering: Callable[[tuple[Claim, ...]], Covers] | None = field(default=None, repr=False)
    multi_output: bool | str = False

    @property
    def covers(self) -> Covers:
        """Which learnt numbers the claims tie to the rows by a proof, which by an estimate, and which by nothing."""
        return Covers() if self.covering is None else self.covering(self.claims)

    @property
    def holds(self) -> bool:
        """Whether every claim held when the fit was made; where there are none, nothing is proved. `verify` re-establishes them from the rows."""
        return bool(self.claims) and all(c.holds for c in self.claims)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __getitem__(self, name: str) -> Claim:
        for claim in self.claims:
            if claim.name == name:
                return claim
        raise KeyError(f"No claim {name!r}; there are: {', '.join(c.name for c in self.claims)}")

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Verdicts:
        """Re-check every claim from the rows it speaks of and its witness, with plain NumPy."""
        if self.verifier is not None:
            return self.verifier(X, y, sample_weight)
        rows = as_rows(
            X,
            y,
            sample_weight,
            categories=self.levels is not None,
            levels=self.levels,
            sparse=self.sparse,
            multi_output=self.multi_output,
        )
        rows = rows.fitted_to(self.names, self.levels)
        rows = engine_for(rows).open(rows)
        return self.verdicts(*((rows, None) if self.split is None else split_rows(rows, *self.split)))

    def verdicts(self, seen: Rows, held_out: Rows | None = None) -> Verdicts:
        """As `verify`, where the rows of the fit and those held out have been told apart already."""
        if self.columns is not None and seen.n_columns != self.columns:
            reason = f"the rows have {seen.n_columns} columns, the model has {self.columns}"
            return Verdicts(tuple(_refused(claim, reason) for claim in self.claims))
        own = self._own_claims()
        seen = seen if self.seen_as is None else self.seen_as(seen)
        fitted = plain_rows(seen), answering(self.predict, seen)
        rest = fitted if held_out is None else (plain_rows(held_out), answering(self.predict, held_out))
        verdicts = [
            self._verdict(claim, own, *(rest if claim.check in ON_HELD_OUT else fitted)) for claim in self.claims
        ]
        there = {claim.name for claim in self.claims}
        gone = [
            Verdict(name, False, "the claim is missing" if c.check else c.statement, kind=c.kind)
            for name, c in own.items()
            if name not in there
        ]
        return Verdicts((*verdicts, *gone), self._notes(seen))

    def _notes(self, rows: Rows) -> tuple[str, ...]:
        """A note where the rows are not those of the fit; claims may hold on them all the same (in another order, say)."""
        if not self.fingerprint:
            return ()
        try:
            same = fingerprint_of(rows, self.classes) == self.fingerprint
        except Exception as error:
            unusable(error)
            same = False
        return () if same else (OTHER_ROWS,)

    def _own_claims(self) -> dict[str, Claim]:
        try:
            with np.errstate(all="ignore"):
                return {} if self.own is None else {claim.name: claim for claim in self.own()}
        except Exception as error:
            reason = f"the model's parts do not fit together: {unusable(error)}"
            return {"the model's own claims": Claim("the model's own claims", reason, False, "")}

    def _verdict(self, claim: Claim, own: dict[str, Claim], rows: CheckedRows, predict: Any) -> Verdict:
        try:
            with np.errstate(all="ignore"):  # numbers that make no sense fail their comparison
                problem = self._problem(claim, own)
                return self._checked(claim, rows, predict) if problem is None else _refused(claim, problem)
        except Exception as error:  # a witness that cannot even be evaluated proves nothing
            return _refused(claim, f"the witness cannot be checked: {unusable(error)}")

    def _checked(self, claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
        check = checker(claim.check)
        if check is None:
            return _refused(claim, f"no checker is known for {claim.check[:LONGEST_REASON]!r}")
        verdict = check(claim, rows, predict)
        if verdict.holds and verdict.value is not None and not math.isfinite(verdict.value):
            return _refused(claim, f"what was measured is {verdict.value}, beyond all numbers: it proves nothing")
        if verdict.holds and not claim.holds:
            return _refused(claim, f"the claim itself says that it does not hold, whatever was found: {verdict.reason}")
        return verdict

    def _problem(self, claim: Claim, own: dict[str, Claim]) -> str | None:
        """Why the claim is not one that can be made of this model, whatever the rows."""
        if self.own is None:
            return None
        if claim.name in own:
            part = differs_in(claim, own[claim.name])
            if part == "witness":
                return "the witness is not about the parts of this model"
            return None if part is None else f"the {part} is not the one that follows from the model"
        if claim.check not in ON_HELD_OUT:
            return "this is no claim that follows from the model"
        stated = (claim.witness.get("fraction"), claim.witness.get("seed"))
        return None if stated == self.split else f"the split {stated} is not that of the model, {self.split}"

    def __str__(self) -> str:
        lines = []
        for c in self.claims:
            bound = f" (bound {_number(c.bound)})" if c.bound is not None else ""
            value = f": {_number(c.value)}{bound}" if c.value is not None else ""
            lines.append(f"{MARKS[c.holds]:<6} {c.kind:<9} {c.name}{value}")
            lines += wrap(c.statement, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
        return "\n".join([*(lines or [NO_CLAIMS]), *filter(None, [str(self.covers)])])

    def _repr_html_(self) -> str:
        if not self.claims:
            return f"<p>{NO_CLAIMS}</p>"
        head = "<tr><th>claim</th><th>kind</th><th>holds</th><th>value</th><th>bound</th><th>statement</th></tr>"
        body = "".join(
            f"<tr><td>{escape(c.name)}</td><td>{c.kind}</td><td>{'yes' if c.holds else '<b>no</b>'}</td>"
            f"<td>{_number(c.value)}</td><td>{_number(c.bound)}</td><td>{escape(c.statement)}</td></tr>"
            for c in self.claims
        )
        covers = "".join(f"<p>covered {escape(line)}</p>" for line in self.covers.lines())
        return f"<table>{head}{body}</table>{covers}"


def _refused(claim: Claim, reason: str) -> Verdict:
    return Verdict(claim.name, False, reason, kind=claim.kind)


# Whether rows are those of the fit, bit for bit and in order: their fingerprint is taken again by the same fold.

OTHER_ROWS = "fingerprint: the rows are not those of one fit (bit for bit and in order: the fingerprint differs)"


def fingerprint_of(rows: Rows, classes: Array | None) -> str:
    """The fingerprint of rows with a target: of the classes' codes, or of numbers where there are no classes."""
    engine = engine_for(rows)
    labels = None if classes is None else Labels.of(classes)
    mark = fold(engine, engine.open(rows).blocks(), partial(_leaf, labels), join)
    return "" if mark is None else mark.hex()


def _leaf(labels: Labels | None, block: Block) -> bytes:
    if block.y is None:
        raise DataError("The rows have no target.")
    target: Any = as_regression_target(block.y, block.start) if labels is None else labels.encode(block.y)
    return leaf_of(block.X, target, block.w)


def plain_rows(rows: Rows) -> CheckedRows:
    """The rows, each block loaded where it is asked for."""
    return CheckedRows(
        lambda: map(_plain, rows.blocks()),
        rows.n_columns,
        rows.n_rows,
        rows.sparse,
        lambda: map(_plain, rows.targets()),
    )


def _plain(part: Part) -> RowBlock:
    X, y, w, start = part.load()
    return RowBlock(
        CsrBlock(X.data, X.indices, X.indptr, X.n_columns) if isinstance(X, SparseMatrix) else X, y, w, start
    )


def answering(predict: Callable[[Any], Any] | None, rows: Rows) -> Callable[[Any], Any] | None:
    """`predict` of a block's X; the model is shown the names of the columns."""
    if predict is None:
        return None

    def answer(X: Any) -> Any:
        if isinstance(X, CsrBlock):
            X = SparseMatrix(X.data, X.indices.astype("int32", copy=False), X.indptr, X.n_columns)
        return predict(rows_of(X, like=rows))

    return answer
