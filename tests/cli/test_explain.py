"""`assay explain` writes what each column adds, and it adds up."""

from __future__ import annotations

import csv
import io
import json

import numpy as np

import assay


def _table(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], rows[1:]


def test_base_and_columns_add_up_to_the_answer_of_each_row(cli):
    assert cli("train", "coins", "--model", "random-forest", "--out", "m.assay").code == 0
    names, rows = _table(cli("explain", "m.assay", "coins").out)
    assert names == ["prediction", "answer", "base", "size_mm", "mass_g"]
    numbers = np.array([row[1:] for row in rows], dtype=float)
    assert np.allclose(numbers[:, 1:].sum(axis=1), numbers[:, 0])
    model = assay.load("m.assay")
    assert [row[0] for row in rows] == [str(label) for label in model.predict("coins")]
    P = model.model_.predict_proba(model.rows("coins"))
    assert np.allclose(numbers[:, 0], P.max(axis=1))


def test_one_class_and_background_rows_can_be_asked_for(cli):
    assert cli("train", "coins", "--model", "decision-tree", "--out", "m.assay").code == 0
    found = json.loads(cli("explain", "m.assay", "coins", "--class", "25c", "--against", "coins", "--json").out)
    assert (found["schema"], found["columns"][1:3]) == ("assay.explain/1", ["answer", "base"])
    model = assay.load("m.assay")
    P = model.model_.predict_proba(model.rows("coins"))[:, model.classes_.tolist().index("25c")]
    numbers = np.array([row[1:] for row in found["answers"]], dtype=float)
    assert np.allclose(numbers[:, 0], P)
    assert np.allclose(numbers[:, 1], P.mean())
    refused = cli("explain", "m.assay", "coins", "--class", "3c")
    assert refused.code == 2
    assert "no class '3c': the classes are 10c, 25c, 50c, 5c" in refused.err


def test_models_without_shap_values_say_who_has_them(cli):
    assert cli("train", "coins", "--model", "gaussian-nb", "--out", "m.assay").code == 0
    refused = cli("explain", "m.assay", "coins")
    assert refused.code == 2
    assert "gaussian-nb has no SHAP values: trees, forests" in refused.err


def test_columns_of_the_table_are_kept_and_files_written(cli):
    assert cli("train", "coins", "--model", "decision-tree", "--out", "m.assay").code == 0
    done = cli("explain", "m.assay", "coins", "--keep", "size_mm", "--out", "e.csv")
    assert (done.code, done.out) == (2, "")  # a column of the model has that name
    done = cli("explain", "m.assay", "coins", "--keep", "coin", "--out", "e.csv")
    assert "rows explained: e.csv" in done.out
