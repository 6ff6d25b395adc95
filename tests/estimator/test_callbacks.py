"""scikit-learn's callbacks hear of our fits: each fit a task, each iteration a task within it, with the model as it answers then."""

from __future__ import annotations

import numpy as np
import pytest
from cases import pairs

import assay
from assay.errors import DataError

callbacks = pytest.importorskip("sklearn.callback")
X, Y = pairs(80, 3, 1)


class Recorder:
    """What a callback is told."""

    def __init__(self, stop_at=None):
        self.heard, self.models, self.stop_at = [], [], stop_at

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.heard.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        return context.task_id == self.stop_at and context.task_name != "fit"


def test_a_fit_and_its_iterations_are_tasks_with_the_model_as_it_answers_then():
    told = Recorder()
    model = assay.LogisticRegression(solver="newton").set_callbacks(told).fit(X, Y)
    steps = int(model.n_iter_[0])
    assert told.heard[:3] == ["setup", "begin fit", "begin newton-iter"]
    assert told.heard[-2:] == ["end fit", "teardown"]
    assert told.heard.count("end newton-iter") == steps + 1  # the last finds nothing left to do
    for number, then in enumerate(told.models[:steps], start=1):
        with pytest.warns() if number < steps else np.errstate():
            shorter = assay.LogisticRegression(solver="newton", max_iter=number).fit(X, Y)
        np.testing.assert_array_equal(then.predict_proba(X), shorter.predict_proba(X))
    assert told.models[steps] is None
    np.testing.assert_array_equal(told.models[-1].coef_, model.coef_)


def test_a_callback_ends_the_iterations_and_the_model_says_that_it_has_not_converged():
    model = assay.LogisticRegression(solver="lbfgs").set_callbacks(Recorder(stop_at=1))
    with pytest.warns(UserWarning, match="relative gap"):
        model.fit(X, Y)
    assert model.n_iter_[0] == 2
    assert not model.converged_


def test_who_is_told_of_nothing_changes_no_bit_and_a_failed_fit_is_torn_down():
    told = Recorder()
    model = assay.LogisticRegression().set_callbacks(told)
    plain = assay.LogisticRegression().fit(X, Y)
    np.testing.assert_array_equal(model.fit(X, Y).coef_, plain.coef_)
    with pytest.raises(DataError):
        model.fit(X, np.zeros(len(X)))
    assert told.heard[-1] == "teardown"
    told.heard.clear()
    model.set_callbacks().fit(X, Y)
    assert not told.heard
    assert not {name for name in vars(model) if name.startswith(("_skl", "_told", "_callback"))}


def test_what_is_no_callback_is_refused():
    with pytest.raises(TypeError, match="callbacks must be instances"):
        assay.GaussianNB().set_callbacks("loud")


def test_a_pipeline_passes_callbacks_on():
    from sklearn.pipeline import make_pipeline

    told = Recorder()
    told.max_propagation_depth = None
    make_pipeline(assay.LogisticRegression(solver="newton")).set_callbacks(told).fit(X, Y)
    assert "begin newton-iter" in told.heard
