"""A saved model on a table: judged on rows it never saw where there are some, and it is said which rows they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay
from assay import compare
from assay.errors import ParameterError, SchemaError
from assay.selection.model_report import comparison_of


def table(n: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    a, b = rng.normal(size=(2, n)) + y
    return pd.DataFrame({"a": a, "b": b, "y": np.where(y, "yes", "no"), "t": a + rng.normal(size=n)}).assign(
        patient=[f"p{k}" for k in rng.integers(0, 12, n)], moment=rng.permutation(n), w=np.arange(n) % 3 / 2
    )


TASKS = {"y": "lda", "t": "ridge"}


def fitted(data: pd.DataFrame, target: str = "y", **options) -> assay.Comparison:
    return compare(data, target, models=[TASKS[target]], features=["a", "b"], workers=0, **options)


@pytest.mark.parametrize("target", TASKS)
@pytest.mark.parametrize("refit", [False, True], ids=["held out", "fitted again"])
@pytest.mark.parametrize("by", [{}, {"group": "patient"}, {"time": "moment"}, {"weight": "w"}], ids=str)
def test_on_its_own_table_a_model_is_judged_on_the_rows_held_out_from_it(target, by, refit, tmp_path):
    before = fitted(table(), target, resampling="holdout", seed=3, refit=refit, **by)
    before.model.save(tmp_path / "m.assay")
    found = comparison_of(assay.load(tmp_path / "m.assay"), table())
    assert found.question["judged_on"] == ("measured fit" if refit else "held-out rows")
    assert np.array_equal(found.tested, before.tested)
    assert np.array_equal(found.splits[0].train, before.splits[0].train)
    (entry,), (due,) = found.entries, before.entries
    assert entry.risk.value == due.risk.value
    assert entry.risk.n == len(before.tested)
    assert entry.train_risk.value == pytest.approx(due.train_risk.value)
    assert found.recommended == due.name
    assert "fit" not in found.verdict[0]  # nothing to warn of


@pytest.mark.parametrize("target", TASKS)
@pytest.mark.parametrize("by", [{}, {"weight": "w"}], ids=str)
def test_a_model_of_all_rows_is_judged_on_them_and_it_is_said_that_these_are_the_rows_of_its_fit(target, by):
    model = fitted(table(), target, folds=4, **by).model
    found = comparison_of(model, table())
    assert found.question["judged_on"] == "rows of the fit"
    assert "on the very rows of its fit" in found.verdict[0]
    counted = np.flatnonzero(table().w > 0) if by else np.arange(120)
    assert np.array_equal(found.tested, counted)
    answers, truth = model.predict(table())[counted], table()[target].to_numpy()[counted]
    cost = answers != truth if target == "y" else (answers - truth) ** 2
    assert found.entries[0].risk.value == pytest.approx(cost.mean())
    assert found.entries[0].train_risk is None  # the risk itself is that of training rows


OTHERS = {
    "fewer rows": lambda t: t[:70],
    "other rows, as many": lambda t: table(seed=1),
    "one value changed": lambda t: t.assign(a=np.where(np.arange(len(t)) == 5, 0.0, t.a)),
    "one target changed": lambda t: t.assign(y=np.where(np.arange(len(t)) == 5, "yes", "no")),
    "another order": lambda t: t[::-1],
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("options", [{"resampling": "holdout"}, {"folds": 4}], ids=["held out", "folds"])
def test_any_other_table_is_judged_whole_and_called_another_table(options, other):
    model = fitted(table(), **options).model
    new = OTHERS[other](table())
    found = comparison_of(model, new)
    assert found.question["judged_on"] == "another table"
    assert "on this table" in found.verdict[0]
    assert np.array_equal(found.tested, np.arange(len(new)))
    assert found.entries[0].risk.value == pytest.approx((model.predict(new) != new.y).mean())


@pytest.mark.parametrize("column", ["patient", "moment"])
def test_without_the_column_that_rows_were_held_out_by_a_table_as_long_as_that_of_the_fit_is_not_judged(column):
    role = "group" if column == "patient" else "time"
    model = fitted(table(), resampling="holdout", refit=False, **{role: column}).model
    with pytest.raises(SchemaError, match=f"no column '{column}'"):  # its rows may be those of the fit
        comparison_of(model, table().drop(columns=column))
    found = comparison_of(model, table(110, seed=1).drop(columns=column))
    assert found.question["judged_on"] == "another table"
    assert len(found.tested) == 110


def test_a_label_that_the_model_never_saw_counts_as_wrong():
    model = fitted(table(), folds=4).model
    new = table(30, seed=2).assign(y="maybe")
    found = comparison_of(model, new)
    assert found.entries[0].risk.value == 1.0
    assert found.data.classes.tolist() == ["maybe", "no", "yes"]


def test_what_is_odd_about_the_table_is_a_worry():
    model = fitted(table(), folds=4).model
    found = comparison_of(model, table(40, seed=2).assign(a=1e3))
    assert [w.title for w in found.worries if w.title == "other than at the fit"]


@pytest.mark.parametrize(("loss", "name"), [("log", "log loss"), ("brier", "Brier score")])
def test_another_loss_can_be_asked_for_and_an_unknown_one_is_refused(loss, name):
    model = fitted(table(), folds=4).model
    found = comparison_of(model, table(), loss)
    assert found.entries[0].risk.name == name
    assert found.loss == loss
    with pytest.raises(ParameterError, match="target of classes"):
        comparison_of(model, table(), f"{loss}x")
