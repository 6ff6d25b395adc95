"""What is claimed of a model's probabilities: from how many rows they were calibrated, and what that did to their log loss; and its re-check.

An estimate, not a proof: the log loss is that of the rows that the calibration was learnt from, though not the fits that scored them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import differs_in
from assay.engines import Rows
from assay.estimator.params import defaults
from assay.estimator.search_space import SearchSpace
from assay.numerics import Array
from assay.selection.calibration import Calibration
from assay.selection.candidates import Candidate
from assay.selection.data import TableData
from assay.selection.inner_answers import of_one_model
from assay.selection.measured_fit import setting_of, sides_of
from assay.selection.plan import OF_CLASSES, Question, at_hand, moments_of, splits_of, with_marks
from assay.selection.splits import PAIRS, Resampling, parts_of, shared_by
from assay.selection.trial import ENOUGH_LEFT_OUT, calibration_of, quietly, search_and_fit
from assay.tables.sources.source import Source

if TYPE_CHECKING:
    from assay.selection.table_model import TableModel

CALIBRATION = "calibration"  # the name of the check, and of its entry in a model file
HELD_OUT, LEFT_OUT = "held-out rows", "rows left out of inner fits"
NEAR = 1e-4  # of slopes and offsets, where solvers end within a tolerance


class LearntFrom(NamedTuple):
    """All that decides from which rows a calibration is learnt, and by which fits these are scored."""

    rows: str  # HELD_OUT: the rows held out of the model; LEFT_OUT: rows of the fit, scored by fits on the others
    split: dict[str, Any] | None  # the rows held out of the fit that it was learnt with; None: none
    searched: list[dict[str, Any]]
    rough: dict[str, Any]
    fixed: dict[str, Any]
    by: str
    plan: dict[str, Any]
    shared: bool | str  # whether folds shared their inner fits (splits.py), and with PAIRS the search on all rows too

    @classmethod
    def of(
        cls, candidate: Candidate, asked: Question, table: TableData, split: Mapping[str, Any] | None = None
    ) -> LearntFrom:
        """That of a model in a comparison; `split` names the rows that it was not fitted on."""
        among = [dict(s) for s in candidate.settings()]
        rough, fixed = dict(candidate.search_space.rough), dict(candidate.fixed)
        held_out = None if split is None else dict(split)
        plan = asked.resampling.to_data()
        return cls(LEFT_OUT, held_out, among, rough, fixed, asked.loss, plan, shared_by(table))


def calibration_claim(calibration: Calibration | None, learnt_from: LearntFrom) -> list[Claim]:
    """The claim, where there are probabilities."""
    if calibration is None:
        return []
    c = calibration
    before = "" if c.before is None else f", {c.before:.4g} before"
    unseen = "the model" if learnt_from.rows == HELD_OUT else "the fits that scored them"
    smoothed = f", smoothed by a share of {c.share:.3g} of the classes' shares" if c.share else ""
    return [
        Claim(
            name="calibrated probabilities",
            statement=(
                f"probabilities are the scores at temperature {c.temperature:.4g}, with a preference for each class{smoothed}, learnt from {c.rows} rows "
                f"that {unseen} never saw; mean log loss of these rows {c.after:.4g}{before} (of new rows a little more); the most probable class is "
                "the label"
            ),
            holds=True,
            check=CALIBRATION,
            value=c.after,
            kind="estimate",
            witness=learnt_from._asdict(),
        )
    ]


def calibrate_fit(model: TableModel, table: TableData, source: Source, split: Mapping[str, Any] | None) -> None:
    """Calibrate a model that was fitted by itself: by the rows held out of it, where they are enough, else by rows left out of inner fits.

    Labels do not depend on it, so the error on the rows held out is as it was; nothing is said of their log loss as that of new rows.
    """
    train, held_out = _sides(table, split, source)
    stated = _of_one_fit(model, split)
    if len(held_out) >= ENOUGH_LEFT_OUT:
        stated = stated._replace(rows=HELD_OUT)
        found = _of_held_out(model, table, train, held_out)
    else:
        found = _again(model, stated, table, train, source)
    model.calibration_ = found
    model.add_claims(*calibration_claim(found, stated))


def _of_one_fit(model: TableModel, split: Mapping[str, Any] | None) -> LearntFrom:
    """What decides the calibration of a model that was fitted by itself: nothing was searched."""
    seed = 0 if split is None else int(split["seed"])
    fixed, plan = setting_of(model.model_), Resampling("k-fold", seed=seed)
    held_out = None if split is None else dict(split)
    return LearntFrom(LEFT_OUT, held_out, [fixed], {}, fixed, "zero-one", plan.to_data(), False)


def _plain(stated: LearntFrom) -> str:
    """As text, in which lists and the order of entries are as in any file."""
    return json.dumps(stated._asdict(), sort_keys=True, default=repr)


def check_calibration(model: TableModel, claim: Claim, _: Rows, source: Source, opened: Rows) -> tuple[bool, str]:
    """Learn it again from the rows, and compare."""
    stated = LearntFrom(**claim.witness)
    if model.calibration_ is None or stated.by not in OF_CLASSES or stated.rows not in (HELD_OUT, LEFT_OUT):
        return False, "such a claim cannot be made of this model"
    if stated.rows == HELD_OUT and _plain(stated) != _plain(_of_one_fit(model, stated.split)._replace(rows=HELD_OUT)):
        return False, "what it was learnt from is not what follows from a fit by itself"
    (due,) = calibration_claim(model.calibration_, stated)
    part = differs_in(claim, due)
    if part is not None:
        return False, f"the {part} is not the one that follows from the model"
    table = TableData.of(model.schema_, at_hand(opened, model.schema_), True)
    train, held_out = _sides(table, stated.split, source)
    again = (
        _of_held_out(model, table, train, held_out)
        if stated.rows == HELD_OUT
        else _again(model, stated, table, train, source)
    )
    off = _differs(model.calibration_, again)
    if off is not None:
        return False, f"learnt again, the calibration has another {off}"
    return True, f"learnt again from {again.rows} rows: log loss {again.after:.4g} again"


def _sides(table: TableData, split: Mapping[str, Any] | None, source: Source) -> tuple[Array, Array]:
    """The rows of the fit and those held out of it."""
    return (table.everything, table.everything[:0]) if split is None else sides_of(table, split, source)


def _of_held_out(model: TableModel, table: TableData, train: Array, held_out: Array) -> Calibration:
    """By rows that the model never saw."""
    some = held_out[table.to_score(held_out)]
    scores = model.model_.label_scores(table.encoded(model.encoding_, some))[1]  # type: ignore[attr-defined]
    return of_one_model(table, some, scores, model.model_).calibrations(table, train, [0])[0]


def _again(model: TableModel, stated: LearntFrom, table: TableData, train: Array, source: Source) -> Calibration:
    """Search and fit again, and calibrate by what the inner fits answer."""
    plan = Resampling(**stated.plan)
    table = with_marks(table, source)
    table = replace(table, times=moments_of(plan, len(table), table.times))
    if stated.shared:
        asked = Question(model.target or "target", "classification", stated.by, plan)
        parts = parts_of(plan, splits_of(asked, None, table, source), table)
        table = replace(table, parts=parts, pairs=stated.shared == PAIRS)
    candidate = candidate_like(model, stated.searched, stated.rough, stated.fixed)
    with quietly():
        found = search_and_fit(candidate, table, train, stated.by, plan.seed, lambda event: None)
        search, setting, _, rows, fitted = found
        due = {**defaults(type(fitted)), **stated.fixed, **setting}
        if any(_listed(v) != _listed(due[k]) for k, v in model.model_.fitted_params_.items() if k != "n_jobs"):
            raise ValueError("the search does not lead to the settings of the model")
        again = calibration_of(candidate, table, train, stated.by, plan.seed, search, fitted, rows)
    assert again is not None
    return again.over(fitted.classes_, model.model_.classes_)  # type: ignore[attr-defined]


def _listed(value: Any) -> Any:
    """A value as files have it, which know lists alone."""
    return list(value) if isinstance(value, tuple) else value


def candidate_like(model: TableModel, among: list[Any], rough: dict[str, Any], fixed: dict[str, Any]) -> Candidate:
    """A model as it took part in a comparison, with the settings searched, what was changed to be quick, and what the user fixed."""
    encoding_spec, inner = model.encoding_.encoding_spec, model.model_
    search_space = SearchSpace(tuple(among), encoding_spec.categories, encoding_spec.scaled, rough)
    return Candidate(inner.name, type(inner), search_space, encoding_spec, fixed)


def _differs(there: Calibration, again: Calibration) -> str | None:
    """In what a calibration is not the one learnt again, but for the rounding of another machine."""
    if there.rows != again.rows:
        return "number of rows"
    for part in ("share", "slope", "offset", "prior", "before", "after"):
        a, b = getattr(there, part), getattr(again, part)
        if (a is None) != (b is None) or (a is not None and not np.allclose(a, b, rtol=NEAR, atol=NEAR)):
            return part
    return None
