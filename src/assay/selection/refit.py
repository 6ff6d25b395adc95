"""The model that is handed over: with the settings that a comparison found, fitted again on all rows, those held out included.

A quarter of the rows was kept to measure on; once that is done they would be lost to the model. What is stated of its error stays what the measured
fit showed (measured_fit.py), for of the fit on all rows nothing is left to tell it by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.assess.verdict import grouped
from assay.certify.certificate import UNUSABLE
from assay.errors import ParameterError
from assay.numerics import Array
from assay.processes.child import Emit
from assay.processes.supervisor import Job, OnEvent, Outcome, run_jobs
from assay.selection.calibration_claim import CALIBRATION
from assay.selection.measured_fit import fitted_like, measured_claim
from assay.selection.plan import Limits
from assay.selection.table_claims import encoding_claim
from assay.selection.table_model import TableModel

if TYPE_CHECKING:
    from assay.selection.comparison import Comparison, Entry
    from assay.selection.data import TableData

FACTS = ("target", "weight")  # what a model file says of its table beside the split


def refit(found: Comparison, name: str) -> TableModel:
    """A finished model fitted again on all rows, here and now; where it was fitted on all of them, as it is."""
    entry = found[name]
    if entry.model is None or entry.answers is None:
        raise ParameterError(f"{name} was not finished ({entry.state}), so that there is nothing to fit again.")
    if not needed(found):
        return entry.model
    return Refit(entry, found.data, found.tested).model()


def needed(found: Comparison) -> bool:
    """Whether the models of a comparison have not seen all rows."""
    return found.resampling.kind == "holdout" and all(e.model is None or _held_out(e.model) for e in found.done)


def _held_out(model: TableModel) -> bool:
    return model.model_.provenance_.get("split") is not None


def hand_over(found: Comparison, limits: Limits, emit: OnEvent) -> Comparison:
    """The comparison with its recommended model fitted again, within the limits; where that fails the measured fit stays, and it is said."""
    if found.recommended is None or not needed(found):
        return found
    entry = found[found.recommended]
    if entry.learnt_from is not None:  # there was no time for all rows
        return found
    emit(entry.name, ("refit", len(found.data.everything)))
    outcome = _outcome(Refit(entry, found.data, found.tested), found, limits)
    try:
        if outcome.state == "done":
            found.refits[entry.name] = TableModel.from_record(outcome.value)
    except UNUSABLE as error:
        outcome = replace(outcome, state="failed", message=str(error))
    found.interrupted |= outcome.state == "interrupted"
    found.verdict.insert(1, _sentence(found, outcome))
    return found


def _outcome(work: Refit, found: Comparison, limits: Limits) -> Outcome:
    """How the fit ended, in a process of its own."""
    if found.interrupted:
        return Outcome(work.entry.name, "interrupted")
    (outcome,) = run_jobs(
        [Job(work.entry.name, work)],
        workers=min(1, limits.side_by_side(found.data, 1)),
        timeout=limits.timeout,
        memory=limits.memory,
        deadline=limits.deadline,
    )
    return outcome


def _sentence(found: Comparison, outcome: Outcome) -> str:
    tested, rows = len(found.tested), len(found.data.everything)
    measured = f"It was measured on {grouped(tested)} rows that the measured fit never saw"
    if outcome.state == "done":
        return f"{measured}; then fitted again on all {grouped(rows)}, which is the model handed over."
    why = {"out of time": "no time was left", "interrupted": "it was interrupted"}.get(outcome.state, outcome.message)
    kept = f"the model handed over is the measured fit, of {grouped(rows - tested)} rows"
    return f"{measured}. It was not fitted again on all rows ({why.rstrip('.')}): {kept}."


@dataclass(frozen=True)
class Refit:
    """The work of one refit."""

    entry: Entry
    table: TableData
    tested: Array  # the rows that the measured fit answered

    def __call__(self, emit: Emit) -> Any:
        return self.model().to_record()

    def model(self) -> TableModel:
        """The settings of the measured fit on all rows, with what that fit showed."""
        measured = self.entry.model
        assert measured is not None
        claims = measured_claim(measured, self.table, self.tested, self.entry)
        fitted, encoding = fitted_like(measured, self.table, self.table.everything)
        claims += [claim for claim in measured.certificate_ if claim.check == CALIBRATION]
        calibration = measured.calibration_
        if calibration is not None:
            calibration = calibration.over(measured.model_.classes_, fitted.classes_)  # type: ignore[attr-defined]
        model = TableModel(fitted, encoding, (encoding_claim(encoding), *claims), calibration)
        stated = measured.model_.provenance_
        model.add_claims(**{fact: stated[fact] for fact in FACTS if fact in stated})
        return model
