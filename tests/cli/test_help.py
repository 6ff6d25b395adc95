"""The help of each verb through Click's own runner."""

from __future__ import annotations

import pytest

from assay.cli.app import VERBS, assay
from assay.hypotheses import REGISTRY, model_class


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(runner, verb):
    outcome = runner.invoke(assay, [verb, "--help"])
    assert outcome.exit_code == 0
    assert "--json" in outcome.output
    assert "--quiet" in outcome.output


@pytest.mark.parametrize("name", REGISTRY)
def test_every_hyper_parameter_of_every_model_is_an_option(runner, name):
    outcome = runner.invoke(assay, ["train", "--model", name, "--help"])
    assert outcome.exit_code == 0
    for param in model_class(name).params:
        assert (f"--{param.replace('_', '-')} " in outcome.output) == (param != "n_jobs")
