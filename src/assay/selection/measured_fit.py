"""A model that was measured on rows held out and then fitted again on all of them: what the measured fit got wrong, as a claim, and its re-check.

The fit that is handed over has seen every row, so none of them can tell how it does on new ones. What is stated is the error of a fit
with the same settings on the other side of a split; `verify` makes that fit again and counts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import differs_in
from assay.certify.held_out import clopper_pearson, normal_interval
from assay.engines import Rows
from assay.estimator.estimator import Estimator
from assay.estimator.params import defaults
from assay.estimator.search_space import SearchSpace
from assay.numerics import Array, Floats
from assay.selection.candidates import Candidate
from assay.selection.data import Answers, TableData, row_losses
from assay.selection.held_out_rows import held_out_rows
from assay.selection.plan import at_hand
from assay.selection.splits import Split
from assay.selection.trial import fit_one, learnt, quietly
from assay.tables.encoding import Encoding
from assay.tables.sources.source import Source

if TYPE_CHECKING:
    from assay.selection.comparison import Entry
    from assay.selection.table_model import TableModel

MEASURED = "measured_fit"  # the name of the check
SPLIT = {"fraction", "seed", "group", "time", "sample"}  # what a split may say


class MeasuredFit(NamedTuple):
    """The mean loss of a fit on rows held out, its standard error, how many rows it was tested on and learnt from, how many the
    model that is handed over learnt from, the split and the settings."""

    loss: str
    value: float
    standard_error: float
    tested: int
    learnt: int
    rows: int
    split: dict[str, Any]
    setting: dict[str, Any]

    @classmethod
    def of(
        cls, loss: str, losses: Floats, counts: tuple[int, int], split: Mapping[str, Any], setting: Mapping[str, Any]
    ) -> Any:
        """From the losses of the rows tested; `counts` are the rows of the measured fit and of the one handed over."""
        n = len(losses)
        error = float(losses.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
        return cls(loss, float(losses.mean()), error, n, *counts, dict(split), dict(setting))

    def claim(self) -> Claim:
        """What is said of it in the certificate of the model fitted again."""
        if self.loss == "zero-one":
            errors = round(self.value * self.tested)
            low, high = clopper_pearson(errors, self.tested)
            what, how = f"{errors} of {self.tested} held-out rows wrong", "Clopper-Pearson"
        else:
            low, high = normal_interval(self.value, self.standard_error)
            what, how = f"mean squared error {self.value:.6g} on {self.tested} held-out rows", "normal approximation"
        return Claim(
            name=f"held-out {'error' if self.loss == 'zero-one' else 'squared error'} of the measured fit",
            statement=(
                f"{what} ({_said(self.split)}), answered by a fit of the same settings on {self.learnt} others; the true one of that fit in "
                f"[{low:.6g}, {high:.6g}] with 95% confidence ({how}; rows independent and alike); this model itself is fitted on all "
                f"{self.rows} rows"
            ),
            holds=True,
            check=MEASURED,
            value=self.value,
            bound=high,
            kind="estimate",
            witness=self._asdict(),
        )


def _said(split: Mapping[str, Any]) -> str:
    """A split in words."""
    if split.get("time") is not None:
        return f"the latest by {split['time']}, share {split['fraction']:g}"
    whole = f", groups of {split['group']} kept whole" if split.get("group") is not None else ""
    return f"share {split['fraction']:g}, seed {split['seed']}{whole}"


def usual_loss(classes: bool) -> str:
    """The loss that claims speak of, whatever a comparison went by."""
    return "zero-one" if classes else "squared"


def setting_of(model: Estimator) -> dict[str, Any]:
    """The hyper-parameters of a fit that are not those by default."""
    usual = defaults(type(model))
    return {k: v for k, v in model.fitted_params_.items() if k != "n_jobs" and repr(v) != repr(usual[k])}


def fitted_like(model: TableModel, table: TableData, which: Array) -> tuple[Estimator, Encoding]:
    """A model of the same class and settings, and its encoding, learnt from some rows of a table."""
    inner = model.model_
    candidate = Candidate(inner.name, type(inner), SearchSpace(), model.encoding_.encoding_spec, setting_of(inner))
    with quietly():
        encoding, rows = learnt(candidate, table, which)
        return fit_one(candidate, rows, {}), encoding


def measured_claim(model: TableModel, table: TableData, tested: Array, entry: Entry) -> list[Claim]:
    """The claim about a fit on one side of a split, by its answers for the other; none where a single row was answered."""
    loss = usual_loss(table.classes is not None)
    if len(tested) < 2 or entry.answers is None:
        return []
    losses = row_losses(loss, table, tested, entry.answers)
    stated = model.model_.provenance_["split"]
    counts = entry.trials[0].train_rows, len(table.everything)
    return [MeasuredFit.of(loss, losses, counts, stated, setting_of(model.model_)).claim()]


def check_measured_fit(model: TableModel, claim: Claim, raw: Rows, source: Source, opened: Rows) -> tuple[bool, str]:
    """Make the measured fit again, on the rows that the split stated leaves it, and count what it gets wrong on the others."""
    stated = MeasuredFit(**claim.witness)
    wrong = _cannot_be(stated, model) or _differs(claim, stated)
    if wrong is not None:
        return False, wrong
    table = TableData.of(model.schema_, at_hand(opened, model.schema_), hasattr(model.model_, "classes_"))
    split = sides_of(table, stated.split, source)
    if (len(split.test), len(split.train), len(table.everything)) != (stated.tested, stated.learnt, stated.rows):
        return (
            False,
            f"the split holds out {len(split.test)} rows and leaves {len(split.train)}, which is not what is stated",
        )
    fitted, encoding = fitted_like(model, table, split.train)
    answers = Answers.for_loss(fitted, table.encoded(encoding, split.test), table.classes, stated.loss)
    losses = row_losses(stated.loss, table, split.test, answers)
    found = MeasuredFit.of(stated.loss, losses, (stated.learnt, stated.rows), stated.split, stated.setting)
    for there, due in ((found.value, stated.value), (found.standard_error, stated.standard_error)):
        if not np.isclose(there, due, rtol=1e-6, atol=1e-12):
            return False, f"the fit made again costs {there:g}, not {due:g}"
    return True, f"fitted again on {stated.learnt} rows: {found.claim().statement.split(' (')[0]} again"


def sides_of(table: TableData, stated: Mapping[str, Any], source: Source) -> Split:
    """The two sides of a split that is stated; rows of weight 0 are on neither."""
    counted = table.everything
    mask = held_out_rows(source, table.rows, stated)[counted]
    return Split(counted[mask == 0], counted[mask == 1])


def _cannot_be(stated: MeasuredFit, model: TableModel) -> str | None:
    """Why this cannot be said of the model, whatever the rows."""
    if stated.loss != usual_loss(hasattr(model.model_, "classes_")):
        return f"the loss {stated.loss!r} is not that of such a claim"
    if model.model_.provenance_.get("split") is not None:
        return "rows were held out from this model, so it is not fitted on all of them"
    if not _same(stated.setting, setting_of(model.model_)):
        return "the settings of the measured fit are not those of the model"
    split = stated.split
    fraction, seed, names = split["fraction"], split["seed"], [split.get("group", ""), split.get("time", "")]
    good = isinstance(fraction, float) and 0 < fraction < 1 and isinstance(seed, int) and 0 <= seed < 1 << 64
    good = good and isinstance(split.get("sample", 1), int) and split.get("sample", 1) > 0
    if not good or not set(split) <= SPLIT or not all(isinstance(name, str) for name in names):
        return "the split stated is none that can be made"
    return None


def _same(stated: Mapping[str, Any], setting: Mapping[str, Any]) -> bool:
    return stated.keys() == setting.keys() and all(repr(stated[name]) == repr(value) for name, value in setting.items())


def _differs(claim: Claim, stated: MeasuredFit) -> str | None:
    part = differs_in(claim, stated.claim())
    return None if part is None else f"the {part} is not the one that follows from what was measured"
