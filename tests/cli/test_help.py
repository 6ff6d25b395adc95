"""The help of each verb through Click's own runner."""

from __future__ import annotations

import warnings

import pytest

from assay import load
from assay.cli.app import VERBS, assay
from assay.estimator.params import option_of
from assay.families import REGISTRY, model_class


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(runner, verb):
    outcome = runner.invoke(assay, [verb, "--help"])
    assert outcome.exit_code == 0
    assert "--json" in outcome.output
    assert "--quiet" in outcome.output


@pytest.mark.parametrize("name", REGISTRY)
def test_every_hyper_parameter_of_every_model_is_an_option(runner, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # two options of one name
        outcome = runner.invoke(assay, ["train", "--model", name, "--help"])
    assert outcome.exit_code == 0
    for param in model_class(name).params:
        assert (f"{option_of(param)} " in outcome.output) == (param != "n_jobs")


def test_columns_and_kernel_features_are_told_apart(runner, tmp_path):
    words = ["train", "coins", "--target", "coin", "--model", "kernel-features", "--features", "size_mm"]
    words += ["--model-features", "fourier", "--n-components", "20", "--out", str(tmp_path / "m.assay")]
    assert runner.invoke(assay, words).exit_code == 0
    model = load(tmp_path / "m.assay")
    assert model.model_.features == "fourier"
    assert [column.name for column in model.schema_.columns] == ["size_mm"]
