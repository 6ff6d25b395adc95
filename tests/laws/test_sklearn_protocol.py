"""scikit-learn's own conformance suite and its tools; what is expected to fail is impossible."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from cases import CASES, IDS, answers, pairs
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks


def _instances():
    """Every model once, and those of its variants that take any numbers."""
    found, seen = [], set()
    for case in CASES:
        if case.name not in seen or case.data in (None, pairs):
            found.append(case.model())
        seen.add(case.name)
    return found


def _impossible(estimator):
    """An online perceptron's weights depend on the order of the rows, which these checks change (scikit-learn's too); so does a choice by
    folds, but not among strengths as far apart as here. No share of the rows is that of margin errors where one class weighs 10⁷ times another."""
    order_matters = getattr(estimator, "depends_on_order", False) and "cv" not in estimator.get_params()
    kinds = ("dense", "sparse") if order_matters else ()
    found = {f"check_sample_weight_equivalence_on_{kind}_data": "the order of the rows matters" for kind in kinds}
    if estimator.name == "nu-svc":
        found["check_class_weight_classifiers"] = "such class weights make nu infeasible (scikit-learn ignores them)"
    return found


@parametrize_with_checks(_instances(), expected_failed_checks=_impossible)
def test_conformance(estimator, check):
    check(estimator)


@pytest.mark.parametrize("case", CASES, ids=IDS)
class TestTools:
    def test_a_pipeline_gives_the_same_answers(self, case):
        X, y = case.rows()
        pipe = make_pipeline(FunctionTransformer(), case.model()).fit(X, y)
        assert np.array_equal(answers(pipe, X), answers(case.model().fit(X, y), X))

    def test_clone_copies_the_parameters_and_nothing_learnt(self, case):
        X, y = case.rows()
        copy = clone(case.model().fit(X, y))
        assert copy.get_params() == case.model().get_params()
        assert not copy.__sklearn_is_fitted__()
        assert is_classifier(copy) == case.classifies
        assert is_regressor(copy) == (not case.classifies)

    def test_a_pickled_model_answers_alike(self, case):
        X, y = case.rows()
        model = case.model().fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(answers(again, X), answers(model, X))
        assert again.certificate_.verify(X, y).holds == model.certificate_.verify(X, y).holds

    def test_grid_search_and_cross_validation_run(self, case):
        X, y = case.rows()
        scores = cross_val_score(case.model(), X, y, cv=3)
        assert scores.shape == (3,)
        assert np.all(np.isfinite(scores))
        search = GridSearchCV(case.model(), {"n_jobs": [1, 2]}, cv=3).fit(X, y)
        assert search.best_score_ == pytest.approx(scores.mean())

    def test_votes_and_calibration_run(self, case):
        X, y = case.rows()
        if not case.classifies:
            voting = VotingRegressor([("a", case.model()), ("b", case.model())]).fit(X, y)
            assert np.allclose(voting.predict(X), case.model().fit(X, y).predict(X))
            return
        # the nearest centroid is named by plain distances, its probabilities by those in deviations, as in scikit-learn
        soft = hasattr(case.model(), "predict_proba") and case.name != "nearest-centroid"
        kind = "soft" if soft else "hard"
        voting = VotingClassifier([("a", case.model()), ("b", case.model())], voting=kind).fit(X, y)
        assert np.array_equal(voting.predict(X), case.model().fit(X, y).predict(X))
        calibrated = CalibratedClassifierCV(case.model(), cv=3).fit(X, y)
        assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1)

    def test_metadata_routing_does_not_stand_in_the_way_of_weights(self, case):
        X, y = case.rows()
        w = 1.0 + np.arange(len(y)) % 2
        pipe = make_pipeline(FunctionTransformer(), case.model())
        pipe.fit(X, y, **{f"{pipe.steps[-1][0]}__sample_weight": w})
        direct = case.model().fit(X, y, sample_weight=w)
        assert np.array_equal(answers(pipe, X), answers(direct, X))
