"""The model handed over is fitted on all rows; its stated error is that of the fit that was measured, and `verify` finds both again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import assay
from assay import compare
from assay.certify import Claim
from assay.certify.held_out import clopper_pearson
from assay.errors import ParameterError
from assay.processes.supervisor import Outcome
from assay.selection import refit as refitting
from assay.selection.measured_fit import MEASURED, MeasuredFit
from assay.selection.model_report import comparison_of
from assay.selection.table_model import TableModel

MODELS = ["lda", "linear-svc", "decision-tree", "baseline"]


def table(n: int = 160, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    X = rng.normal(size=(n, 2)) + 1.1 * y[:, None] * [1, -1]
    colour = np.where(rng.random(n) < 0.3 + 0.2 * y, "red", "blue")
    made = pd.DataFrame(X, columns=["a", "b"]).assign(colour=colour, y=[f"k{v}" for v in y])
    return made.assign(
        t=X[:, 0] + rng.normal(size=n), g=np.arange(n) % 9, w=(np.arange(n) % 5 > 0) * 2.0, day=rng.permutation(n)
    )


CLASSES = {"target": "y", "features": ["a", "b", "colour"], "resampling": "holdout", "workers": 0}
NUMBERS = {"target": "t", "features": ["b", "colour"], "resampling": "holdout", "workers": 0}


@pytest.fixture(scope="module")
def found():
    return compare(table(), models=MODELS, **CLASSES)


def claim_in(model: TableModel) -> Claim:
    (claim,) = [c for c in model.certificate_ if c.check == MEASURED]
    return claim


def test_the_model_handed_over_has_learnt_from_all_rows_with_the_settings_that_were_measured(found):
    measured, handed_over = found[found.recommended].model, found.model
    assert measured.encoding_.statistics.n == len(found.splits[0].train) < len(table())
    assert handed_over.encoding_.statistics.n == len(table())
    assert handed_over.model_.provenance_.get("split") is None
    assert dict(handed_over.model_.fitted_params_) == dict(measured.model_.fitted_params_)
    assert found[found.recommended].risk.n == len(found.splits[0].test)  # what is stated stays


def test_it_is_the_fit_that_the_rows_and_settings_give(found):
    inner = type(found.model.model_)(**found.model.model_.fitted_params_)
    rows = found.data.encoded(found.model.encoding_, found.data.everything)
    again = inner.fit(rows)
    assert np.array_equal(again.predict(rows), found.model.predict(table()))


@pytest.mark.parametrize("name", MODELS)
def test_the_certificate_states_the_measured_fit_and_verify_makes_it_again(found, name, tmp_path):
    found.refit(name).save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    claim, entry = claim_in(loaded), found[name]
    n = len(found.splits[0].test)
    assert claim.value == pytest.approx(entry.risk.value)
    assert claim.bound == pytest.approx(clopper_pearson(round(claim.value * n), n).high)
    assert claim.kind == "estimate"
    assert f"this model itself is fitted on all {len(table())} rows" in claim.statement
    verdicts = loaded.certificate_.verify(table())
    assert verdicts.holds, str(verdicts)
    assert not verdicts.notes  # they are the rows of the fit
    assert claim.name in [v.claim for v in verdicts]


@pytest.mark.parametrize(
    "options", [{"group": "g"}, {"time": "day"}, {"weight": "w"}, {"seed": 5, "share": 0.4}], ids=str
)
def test_a_split_by_group_or_time_is_kept_and_rows_of_no_weight_are_in_neither_part(options):
    made = compare(table(), models=["lda"], **CLASSES, **options)
    claim = claim_in(made.model)
    assert claim.witness["tested"] == len(made.tested)
    assert {k: claim.witness["split"][k] for k in options if k in ("group", "time", "seed")} == {
        k: v for k, v in options.items() if k in ("group", "time", "seed")
    }
    verdicts = made.model.certificate_.verify(table())
    assert verdicts.holds, str(verdicts)


def test_a_number_has_the_squared_error_of_the_measured_fit():
    made = compare(table(), models=["ridge"], loss="absolute", **NUMBERS)
    claim = claim_in(made.model)
    assert claim.value == pytest.approx(((made.entries[0].answers.values - made.truth) ** 2).mean())
    assert made.model.certificate_.verify(table()).holds
    witness = {**claim.witness, "value": claim.value * 0.99}
    assert not verdict(made.model, MeasuredFit(**witness).claim())[0]


def verdict(model: TableModel, claim: Claim) -> tuple[bool, str]:
    own = tuple(claim if c.check == MEASURED else c for c in model._claims)
    verdicts = TableModel(model.model_, model.encoding_, own).certificate_.verify(table())
    (there,) = [v for v in verdicts if v.claim == claim.name]
    return there.holds, there.reason


LIES = {
    "an error less": (lambda w: {"value": (round(w["value"] * w["tested"]) - 1) / w["tested"]}, "costs"),
    "rows that were not tested": (lambda w: {"tested": w["tested"] + 1}, "holds out"),
    "rows that were not there": (lambda w: {"rows": w["rows"] + 1}, "holds out"),
    "rows that were not learnt from": (lambda w: {"learnt": w["learnt"] + 1}, "holds out"),
    "another seed": (lambda w: {"split": {**w["split"], "seed": 7}}, ""),
    "another share": (lambda w: {"split": {**w["split"], "fraction": 0.26}}, ""),
    "a split by groups": (lambda w: {"split": {**w["split"], "group": "g"}}, ""),
    "other settings": (lambda w: {"setting": {**w["setting"], "tol": 0.5}}, "settings"),
    "the error of numbers": (lambda w: {"loss": "squared"}, "squared"),
    "another spread": (lambda w: {"standard_error": w["standard_error"] / 2}, "costs"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_that_agrees_with_itself_is_found_out_from_the_rows(found, lie):
    change, why = LIES[lie]
    model = found.refit("linear-svc")
    witness = claim_in(model).witness
    assert verdict(model, MeasuredFit(**witness).claim())[0]
    holds, reason = verdict(model, MeasuredFit(**{**witness, **change(witness)}).claim())
    assert not holds
    assert why in reason


@pytest.mark.parametrize(
    "part",
    [{"value": 0.0}, {"bound": 0.01}, {"kind": "proof"}, {"statement": "it is right"}],
    ids=lambda part: next(iter(part)),
)
def test_a_part_that_does_not_follow_from_the_rest_is_named(found, part):
    model = found.refit("lda")
    holds, reason = verdict(model, replace(claim_in(model), **part))
    assert not holds
    assert next(iter(part)) in reason


HOSTILE = {
    "split": [None, {}, {"fraction": "x", "seed": 0}, {"fraction": 2.0, "seed": 0}, {"fraction": 0.25, "seed": -1}],
    "tested": [None, "many", 0],
    "learnt": [None, "many"],
    "value": [None, float("nan"), "x"],
    "setting": [None, {"nothing": 1}],
    "loss": ["log", None],
}


@pytest.mark.parametrize("part", HOSTILE)
def test_a_witness_of_anything_is_refused_in_words(found, part):
    model = found.refit("lda")
    claim = claim_in(model)
    for value in HOSTILE[part]:
        holds, reason = verdict(model, replace(claim, witness={**claim.witness, part: value}))
        assert not holds, value
        assert len(reason) > 10
    assert not verdict(model, replace(claim, witness={k: v for k, v in claim.witness.items() if k != part}))[0]


def test_the_claim_may_not_stand_in_the_file_of_the_measured_fit(found):
    model = found["lda"].model
    own = (*model._claims, claim_in(found.refit("lda")))
    verdicts = TableModel(model.model_, model.encoding_, own).certificate_.verify(table())
    assert "rows were held out" in next(v.reason for v in verdicts if "measured fit" in v.claim)


def test_without_refit_the_measured_fit_is_handed_over():
    made = compare(table(), models=["lda"], refit=False, **CLASSES)
    assert made.model is made["lda"].model
    assert made.model.certificate_.verify(table()).holds
    assert "held-out error" in [c.name for c in made.model.certificate_]
    assert not any("fitted again" in sentence for sentence in made.verdict)
    assert made.refit().encoding_.statistics.n == len(table())  # on demand all the same


def test_the_verdict_says_on_what_it_was_measured_and_fitted(found):
    tested = len(found.tested)
    assert (
        f"measured on {tested} rows that the measured fit never saw; then fitted again on all 160" in found.verdict[1]
    )


@pytest.mark.parametrize("state", ["out of time", "memory", "interrupted"])
def test_a_refit_that_does_not_end_leaves_the_measured_fit_and_says_so(state, monkeypatch):
    monkeypatch.setattr(refitting, "run_jobs", lambda jobs, **_: [Outcome(jobs[0].key, state, None, "Too much.")])
    made = compare(table(), models=["lda"], **CLASSES)
    assert made.model is made["lda"].model
    assert made.interrupted == (state == "interrupted")
    assert "not fitted again on all rows" in made.verdict[1]
    assert made.model.certificate_.verify(table()).holds


def test_models_of_folds_are_fitted_on_all_rows_already():
    made = compare(table(60), "y", features=["a", "b"], models=["lda"], folds=3, workers=0)
    assert made.refit("lda") is made["lda"].model


def test_a_model_that_was_not_finished_cannot_be_fitted_again(found):
    lost = replace(found, entries=[*found.entries, assay.selection.comparison.Entry("svc", "timeout")])
    with pytest.raises(ParameterError, match="svc was not finished"):
        lost.refit("svc")


def test_a_streamed_table_hands_over_the_same_file(found, tmp_path):
    table().to_parquet(tmp_path / "t.parquet")
    here = compare(tmp_path / "t.parquet", models=["lda"], **CLASSES)
    with assay.engine("stream"):
        there = compare(tmp_path / "t.parquet", models=["lda"], **CLASSES)
        there.model.save(tmp_path / "there.assay")
        assert there.model.certificate_.verify(tmp_path / "t.parquet").holds
    here.model.save(tmp_path / "here.assay")
    assert (tmp_path / "here.assay").read_bytes() == (tmp_path / "there.assay").read_bytes()


def test_a_report_on_the_model_judges_the_measured_fit_on_the_rows_it_never_saw(found):
    model = found.refit("decision-tree")
    judged = comparison_of(model, table())
    assert judged.question["judged_on"] == "measured fit"
    assert judged.entries[0].risk.value == found["decision-tree"].risk.value
    assert judged.model is model  # which is spoken of, and whose certificate is shown
