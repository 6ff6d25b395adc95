"""`assay compare DATA --target a,b`: one after another, a model and a report for each, one document of JSON."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import assay

FEW = ["--models", "baseline,baseline-regressor,lda,linear-regression", "--folds", "2"]


@pytest.fixture
def homes(tmp_path):
    rng = np.random.default_rng(0)
    size = rng.normal(size=60)
    frame = pd.DataFrame({"size": size, "price, net": 3 * size, "sold": np.where(size > 0, "yes", "no")})
    path = tmp_path / "homes.csv"
    frame.to_csv(path, index=False)
    return path


def test_each_target_has_a_verdict_a_model_and_a_report(cli, homes):
    outcome = cli("compare", homes, "--target", 'sold,"price, net"', *FEW, "--out", "m.assay", "--report", "r.html")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("\nTake ") == 2
    assert "target 2 of 2: price, net" in outcome.err
    for target, name in (("sold", "sold"), ("price, net", "price-net")):
        model = assay.load(homes.parent / f"m-{name}.assay")
        assert model.to_record().target == target
        assert [column.name for column in model.schema_.used] == ["size"]
        assert (homes.parent / f"r-{name}.html").exists()
    assert not (homes.parent / "m.assay").exists()


def test_json_is_one_document_and_lines_name_the_target(cli, homes):
    outcome = cli("compare", homes, "--target", 'sold,"price, net"', *FEW, "--json", "--quiet")
    found = json.loads(outcome.out)
    assert found["schema"] == "assay.compare.targets/1"
    assert [each["target"] for each in found["targets"]] == ["sold", "price, net"]
    lines = cli("compare", homes, "--target", 'sold,"price, net"', *FEW, "--json-lines", "--quiet").out.splitlines()
    assert [json.loads(line)["target"] for line in lines if '"plan"' in line[:20]] == ["sold", "price, net"]


def test_a_column_whose_name_has_a_comma_is_one_target(cli, homes):
    outcome = cli("compare", homes, "--target", "price, net", *FEW)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("\nTake ") == 1


def test_what_cannot_be_is_said_before_the_work(cli, homes):
    assert "cannot all go to standard output" in cli("compare", homes, "--target", "sold,size", *FEW, "--out", "-").err
    assert "no column 'sizes'" in (wrong := cli("compare", homes, "--target", "sold,sizes", *FEW)).err
    assert wrong.out == ""
