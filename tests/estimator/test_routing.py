"""Models say to scikit-learn's pipelines and searches which weights they want, and transformers answer in frames where that is asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from cases import pairs
from sklearn.compose import make_column_transformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

import assay
from assay.errors import ParameterError

X, Y = pairs(60, 3, 1)
W = np.where(np.arange(60) < 30, 1.0, 3.0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_weights_reach_the_models_that_ask_for_them(routing):
    asks = assay.GaussianNB().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    found = make_pipeline(assay.Nystroem(n_components=3).set_fit_request(sample_weight=False), asks)
    found.fit(X, Y, sample_weight=W)
    again = assay.GaussianNB().fit(found[0].transform(X), Y, W)
    np.testing.assert_array_equal(found[1].theta_, again.theta_)
    assert len(cross_validate(asks, X, Y, params={"sample_weight": W}, cv=3)["test_score"]) == 3


def test_who_said_nothing_is_asked_to_say_it_and_clones_remember(routing):
    with pytest.raises(UnsetMetadataPassedError):
        cross_validate(assay.GaussianNB(), X, Y, params={"sample_weight": W})
    asks = sklearn.clone(assay.GaussianNB().set_fit_request(sample_weight="w"))
    assert asks.get_metadata_routing().fit.requests == {"sample_weight": "w"}
    assert assay.GaussianNB().get_metadata_routing().partial_fit.requests == {"classes": None, "sample_weight": None}


def test_requests_that_cannot_be_are_refused(routing):
    with pytest.raises(TypeError, match="takes no 'weights'"):
        assay.GaussianNB().set_fit_request(weights=True)
    assert not hasattr(assay.LogisticRegression(), "set_partial_fit_request")
    assert hasattr(assay.GaussianNB(), "set_partial_fit_request")


def test_without_routing_a_request_says_how_to_turn_it_on():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        assay.GaussianNB().set_fit_request(sample_weight=True)


@pytest.mark.parametrize("model", [assay.LinearDiscriminantAnalysis(), assay.Nystroem(n_components=2)], ids=["lda", "nystroem"])  # fmt: skip
def test_transformers_answer_in_the_frames_that_are_asked_for(model):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(60) + 100)
    plain = model.fit(frame, Y).transform(frame)
    assert isinstance(plain, np.ndarray)
    asked = sklearn.clone(model.set_output(transform="pandas")).fit(frame, Y).transform(frame)
    assert asked.index.equals(frame.index)
    assert asked.columns.tolist() == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(asked.to_numpy(), plain)
    in_polars = model.set_output(transform="polars").transform(frame)
    assert isinstance(in_polars, pl.DataFrame)
    np.testing.assert_array_equal(in_polars.to_numpy(), plain)
    with pytest.raises(ParameterError, match="'excel'"):
        model.set_output(transform="excel")
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(sklearn.clone(model).set_output(transform="default").fit(frame, Y).transform(frame), np.ndarray)  # fmt: skip
    both = make_column_transformer((model, ["a", "b"]), remainder="passthrough").set_output(transform="pandas")
    assert list(both.fit_transform(frame, Y).columns)[-1] == "remainder__c"
