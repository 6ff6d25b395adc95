"""The cross-validated error in a model's certificate is found again by fitting every fold again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay
from assay import compare
from assay.assess.distinct_rows import effective_rows
from assay.certify.held_out import clopper_pearson


def table(n: int = 90, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    X = rng.normal(size=(n, 2)) + 1.2 * y[:, None] * [1, -1]
    colour = np.where(rng.random(n) < 0.3 + 0.2 * y, "red", "blue")
    return pd.DataFrame(X, columns=["a", "b"]).assign(
        colour=colour, y=[f"k{v}" for v in y], t=X[:, 0] + rng.normal(size=n)
    )


CLASSES = {"target": "y", "features": ["a", "b", "colour"]}
NUMBERS = {"target": "t", "features": ["b", "colour"]}


def claim_in(model: assay.selection.table_model.TableModel):
    found = [c for c in model.certificate_ if c.check == "cross_validated"]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("model", ["baseline", "naive-bayes", "lda", "linear-svc", "logistic-regression", "perceptron"])
@pytest.mark.parametrize("options", [{"folds": 4}, {"folds": 3, "repeats": 2}], ids=["k-fold", "repeated"])
def test_the_claim_is_made_and_found_again_from_the_file(model, options, tmp_path):
    found = compare(table(), models=[model], workers=0, **CLASSES, **options)
    found.model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    claim = claim_in(loaded)
    assert claim.value == pytest.approx(found.entries[0].risk.value)
    n = len(table())
    worth = effective_rows(n, n * (1 - 1 / claim.witness["folds"]))
    assert claim.bound == pytest.approx(clopper_pearson(claim.value * worth, worth).high)
    verdicts = loaded.certificate_.verify(table())
    assert verdicts.holds, str(verdicts)
    assert "cross-validated error" in [v.claim for v in verdicts]


@pytest.mark.parametrize("model", ["baseline-regressor", "linear-regression", "ridge"])
def test_numbers_have_a_cross_validated_squared_error(model):
    found = compare(table(), models=[model], folds=5, loss="absolute", workers=0, **NUMBERS)
    claim = claim_in(found.model)
    residual = (found.entries[0].answers.values - found.truth) ** 2
    assert claim.name == "cross-validated squared error"
    assert claim.value == pytest.approx(residual.mean())
    assert found.model.certificate_.verify(table()).holds


def test_other_rows_are_refused():
    model = compare(table(), models=["lda"], folds=4, workers=0, **CLASSES).model
    other = table().assign(y=table().y.sample(frac=1, random_state=0).to_numpy())
    verdicts = {v.claim: v.holds for v in model.certificate_.verify(other)}
    assert not verdicts["cross-validated error"]


@pytest.mark.parametrize(
    "options",
    [{"group": "g"}, {"resampling": "leave-one-out"}, {"weight": "w"}, {"resampling": "bootstrap", "repeats": 3}],
    ids=lambda o: next(iter(o)),
)
def test_folds_that_cannot_be_made_again_from_rows_and_seed_make_no_claim(options):
    rows = table(60).assign(g=np.arange(60) % 6, w=1.0 + np.arange(60) % 2)
    found = compare(rows, models=["lda"], workers=0, **CLASSES, **options)
    assert not [c for c in found.model.certificate_ if c.check == "cross_validated"]
    assert found.model.certificate_.verify(rows).holds


def test_a_streamed_table_makes_and_verifies_the_same_claim(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    here = compare(tmp_path / "t.csv", models=["lda"], folds=3, workers=0, **CLASSES)
    with assay.engine("stream"):
        there = compare(tmp_path / "t.csv", models=["lda"], folds=3, workers=0, **CLASSES)
        assert there.model.certificate_.verify(tmp_path / "t.csv").holds
    assert claim_in(there.model).statement == claim_in(here.model).statement
