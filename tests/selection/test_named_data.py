"""Bundled datasets go by their names in Python as in the shell."""

from __future__ import annotations

import pytest

import assay
from assay.errors import DataError, ParameterError


def test_a_bundled_dataset_is_compared_by_its_name_with_its_own_target():
    found = assay.compare("oaks", models=["linear-regression", "baseline"], folds=3, workers=0)
    assert found.where == "'oaks'"
    assert found.question["target"] == "dbh_inch"
    assert found.model.predict("oaks").tolist() == found.model.predict(assay.dataset("oaks").path).tolist()


def test_a_model_is_trained_on_a_bundled_dataset_by_its_name():
    model = assay.train("oaks", "dbh_inch", assay.LinearRegression(), holdout=0)
    assert model.certificate_.verify("oaks").holds


def test_names_that_are_nearly_right_are_corrected_and_files_come_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="Did you mean 'coins'"):
        assay.compare("coin", "coin")
    (tmp_path / "coins").write_text("a,b\n1,2\n")
    with pytest.raises(ParameterError, match="Which column"):
        assay.compare("coins")
