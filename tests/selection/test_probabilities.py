"""Every classifier of a table answers with probabilities, and the most probable class is always its label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import assay
from assay.families import REGISTRY, model_class
from assay.selection.calibration import CalibratedModel
from assay.selection.calibration_claim import CALIBRATION, HELD_OUT, LEFT_OUT
from assay.selection.candidates import candidates
from assay.selection.data import Answers, probability_losses
from assay.selection.plan import open_table
from assay.selection.splits import Split
from assay.selection.table_model import TableModel
from assay.selection.training import train
from assay.selection.trial import run_trial
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source

ROWS = 120
CLASSIFIERS = [name for name in REGISTRY if model_class(name)._kind == "classifier"]


def table(classes: int) -> pd.DataFrame:
    """Columns of few values, so that answers tie; a column of categories alone for those who take no other."""
    rng = np.random.default_rng(3)
    y = rng.permutation(np.arange(ROWS) % classes)
    X = np.clip(rng.poisson(1.0 + y[:, None], size=(ROWS, 3)), 0, 4)
    return pd.DataFrame(X, columns=list("abc")).astype(float).assign(y=[f"k{v}" for v in y])


@pytest.fixture(scope="module", params=[2, 3])
def data(request):
    source = table_source(table(request.param))
    return open_table(source, infer(source, target="y"))


@pytest.fixture(scope="module")
def trials(data):
    kept = {}

    def of(name):
        if name not in kept:
            found, left_out = candidates(data.schema, len(data.classes), only=[name, "baseline"])
            if found[0].name != name:
                pytest.skip(f"{name}: {left_out}")
            kept[name] = run_trial(found[0], data, Split(np.arange(80), np.arange(80, ROWS)), "zero-one", 0)
        return kept[name]

    return of


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_answers_with_probabilities_that_agree_with_its_labels(name, data, trials):
    trial = trials(name)
    P = trial.answers.P
    assert P.shape == (ROWS - 80, len(data.classes))
    assert np.allclose(P.sum(axis=1), 1.0, atol=1e-6)
    assert (P > 0).all()
    assert (P.argmax(axis=1) == trial.answers.values).all()
    rows = data.encoded(trial.encoding, np.arange(ROWS))
    learner = CalibratedModel(trial.model, trial.calibration)
    assert (trial.model.predict(rows) == trial.model.classes_[learner.predict_proba(rows).argmax(axis=1)]).all()
    assert (learner.predict_log_proba(rows).argmax(axis=1) == learner.predict_proba(rows).argmax(axis=1)).all()
    # honest on rows that neither model nor calibration saw: no worse than saying nothing, but for chance
    truth = data.codes[80:]
    assert probability_losses("log", P.astype(np.float64), truth).mean() < np.log(len(data.classes)) + 0.2


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_label_scores_are_those_of_the_labels_in_one_piece_and_in_blocks(name, data, trials):
    trial = trials(name)
    rows = data.encoded(trial.encoding, np.arange(ROWS))
    codes, S = trial.model.label_scores(rows)
    assert (trial.model.classes_[codes] == trial.model.predict(rows)).all()
    assert S.shape == (ROWS, len(trial.model.classes_))
    assert not np.isnan(S).any()
    if trial.model.has_probabilities:
        assert np.allclose(np.exp(S), trial.model.predict_proba(rows))
    blocks = list(trial.model.label_scores_blocks(rows))
    assert np.array_equal(np.concatenate([c for c, _ in blocks]), codes)
    assert np.array_equal(np.concatenate([s for _, s in blocks]), S)


def test_a_class_that_the_fit_never_saw_gets_a_probability_and_the_labels_stay():
    frame = table(3)
    frame.loc[:99, "y"] = np.where(frame.y[:100] == "k2", "k1", frame.y[:100])
    source = table_source(frame)
    data = open_table(source, infer(source, target="y"))
    (one,), _ = candidates(data.schema, 3, only=["linear-svc"])
    answers = run_trial(one, data, Split(np.arange(100), np.arange(100, ROWS)), "zero-one", 0).answers
    assert 0 < answers.P[:, 2].min() <= answers.P[:, 2].max() < 0.05
    assert (answers.P.argmax(axis=1) == answers.values).all()


def test_of_a_class_with_a_single_row_there_are_probabilities_still():
    frame = table(2)
    frame.loc[0, "y"] = "once"
    found = assay.compare(frame, "y", models=["perceptron", "knn"], folds=2, workers=0)
    for entry in found.entries:
        assert entry.answers.P.shape[1] == 3
        assert (entry.answers.P > 0).all()


@pytest.fixture(scope="module")
def compared():
    return assay.compare(table(2), "y", models=["linear-svc", "knn", "baseline"], folds=5, workers=0)


def test_the_model_handed_over_is_calibrated_and_its_own_model_is_not(compared):
    model, rows = compared["linear-svc"].model, table(2)
    P = model.predict_proba(rows)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(rows)).all()
    assert np.allclose(model.predict_log_proba(rows), np.log(P))
    assert np.allclose(np.concatenate(list(model.predict_proba_blocks(rows))), P)
    ((labels, both),) = model.predict_both_blocks(rows)
    assert np.allclose(both, P)
    assert (labels == model.predict(rows)).all()
    assert not hasattr(model.model_, "predict_proba")
    own = compared["knn"].model
    assert not np.allclose(own.model_.predict_proba(own.rows(rows)), own.predict_proba(rows))


def test_every_score_of_probabilities_stands_in_the_entry(compared):
    for entry in compared.entries:
        assert {"log loss", "Brier score"} <= {score.name for score in entry.scores}
        assert entry.log_loss.value == pytest.approx(next(s.value for s in entry.scores if s.name == "log loss"))


def test_a_file_keeps_the_calibration(compared, tmp_path):
    for entry in compared.entries:
        entry.model.save(tmp_path / "m.assay")
        again = assay.load(tmp_path / "m.assay")
        assert np.array_equal(again.predict_proba(table(2)), entry.model.predict_proba(table(2)))
        assert again.calibration_.to_data() == entry.model.calibration_.to_data()


def test_a_file_from_before_has_none_and_answers_as_it_did(compared):
    model = compared["knn"].model
    record = model.to_record()
    old = TableModel.from_record(
        replace(record, encoding={k: v for k, v in record.encoding.items() if k != CALIBRATION})
    )
    assert old.calibration_ is None
    assert np.allclose(old.predict_proba(table(2)), model.model_.predict_proba(model.rows(table(2))))


def test_the_certificate_tells_of_it_and_verifying_learns_it_again(compared):
    for entry in compared.entries:
        (claim,) = [c for c in entry.model.certificate_ if c.check == CALIBRATION]
        assert claim.kind == "estimate"
        assert str(entry.model.calibration_.rows) in claim.statement
        assert CALIBRATION in entry.model.certificate_.covers.estimate
        assert entry.model.certificate_.verify(table(2)).holds


@pytest.mark.parametrize("change", [{"slope": 3.0}, {"share": 0.3}, {"rows": 99}, {"after": 0.2}])
def test_a_forged_calibration_is_found_out(compared, change):
    model = compared["knn"].model
    forged = replace(model.calibration_, **change)
    (honest,) = [c for c in model._claims if c.check == CALIBRATION]
    from assay.selection.calibration_claim import LearntFrom, calibration_claim

    for claim in (honest, *calibration_claim(forged, LearntFrom(**honest.witness))):
        claims = tuple(claim if c.check == CALIBRATION else c for c in model._claims)
        verdicts = TableModel(model.model_, model.encoding_, claims, forged).certificate_.verify(table(2))
        assert [v.claim for v in verdicts if not v.holds] == ["calibrated probabilities"]


def test_a_calibration_without_its_claim_does_not_verify(compared):
    model = compared["knn"].model
    claims = tuple(c for c in model._claims if c.check != CALIBRATION)
    bare = TableModel(model.model_, model.encoding_, claims, model.calibration_).certificate_
    assert not bare.verify(table(2)).holds
    assert CALIBRATION in bare.covers.nothing


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_every_classifier_takes_part_where_the_loss_is_one_of_probabilities(loss):
    found = assay.compare(table(2), "y", models=["linear-svc", "svc", "perceptron"], loss=loss, folds=2, workers=0)
    assert len(found.done) == 3
    assert not found.left_out
    assert all(e.risk.value < 0.7 for e in found.done)


def test_answers_are_the_same_whether_the_loss_looks_at_probabilities_or_not(data, trials):
    trial = trials("knn")
    rows = data.encoded(trial.encoding, np.arange(80, ROWS))
    plain = Answers.for_loss(CalibratedModel(trial.model, trial.calibration), rows, data.classes, "zero-one")
    assert np.array_equal(plain.values, trial.answers.values)


@pytest.mark.parametrize(
    ("name", "holdout", "rows"),
    [
        ("linear-svc", 0.0, LEFT_OUT),
        ("mlp", 0.25, LEFT_OUT),
        ("random-forest", 0.0, LEFT_OUT),
        ("perceptron", 0.9, HELD_OUT),
    ],
)
def test_a_model_trained_alone_is_calibrated_by_rows_it_never_saw(name, holdout, rows, tmp_path):
    frame = table(2)
    model = train(frame, "y", model_class(name)(), holdout=holdout)
    (claim,) = [c for c in model.certificate_ if c.check == CALIBRATION]
    assert claim.witness["rows"] == rows
    assert (model.classes_[model.predict_proba(frame).argmax(axis=1)] == model.predict(frame)).all()
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert again.certificate_.verify(frame).holds
    assert train(frame, "y", model_class(name)(), holdout=holdout, calibrate=False).calibration_ is None


def test_a_model_fitted_again_on_all_rows_keeps_the_calibration_of_the_measured_fit(tmp_path):
    found = assay.compare(table(3), "y", models=["kernel-perceptron", "baseline"], resampling="holdout", workers=0)
    measured, model = found["kernel-perceptron"].model, found.refit("kernel-perceptron")
    assert model is not measured
    assert model.calibration_.to_data() == measured.calibration_.to_data()
    model.save(tmp_path / "m.assay")
    assert assay.load(tmp_path / "m.assay").certificate_.verify(table(3)).holds


def test_a_calibration_can_be_that_of_a_fit_which_knows_more_classes(compared):
    few = compared["knn"].model.calibration_
    more = few.over(np.array([0, 2]), np.array([0, 1, 2]))
    assert more.prior.sum() == pytest.approx(1.0)
    assert more.prior[1] == few.unseen
    assert more.offset[[0, 2]].tolist() == few.offset.tolist()
