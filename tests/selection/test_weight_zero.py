"""A row of weight 0 is as good as absent: a comparison with such rows says what it says without them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from assay import compare
from assay.errors import DataError

N = 80
MODELS = {"y": ["baseline", "lda", "linear-svc"], "t": ["baseline-regressor", "ridge"]}


def counted(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    y = rng.permutation(np.arange(n) % 2)
    a, b = rng.normal(size=(2, n)) + y
    return pd.DataFrame(
        {"a": a, "b": b, "colour": np.where(rng.random(n) < 0.4, "red", "blue"), "y": np.where(y, "yes", "no")}
    ).assign(t=a + rng.normal(size=n), moment=np.arange(n), patient=np.arange(n) // 8, w=1.0)


def with_absent(table: pd.DataFrame, y: str = "no", t: float = 0.5) -> pd.DataFrame:
    """The rows in their order, and among them rows of weight 0: all of one class, at the first moment, of one patient."""
    absent = table[::2].assign(a=table.a.max(), y=y, t=t, moment=0, patient=0, w=0.0)
    order = np.random.default_rng(1).permutation(np.repeat([True, False], [len(table), len(absent)]))
    mixed = pd.concat([table, absent], ignore_index=True)
    place = np.empty(len(mixed), dtype=int)
    place[order], place[~order] = np.arange(len(table)), len(table) + np.arange(len(absent))
    return mixed.iloc[place].reset_index(drop=True)


def said(table: pd.DataFrame, target: str, **options) -> dict:
    """All numbers and sentences of a comparison, but for time and memory, and for what describes the table itself."""
    features = ["a", "b", "colour"]
    found = compare(table, target, models=MODELS[target], features=features, weight="w", workers=0, **options)
    data = json.loads(found.to_json())
    for model in data["models"]:
        del model["seconds"], model["peak_bytes"]
    parts = ("models", "verdict", "best", "recommended", "bayes_bracket", "worries", "resampling", "rows_tested")
    return {part: data[part] for part in parts}


WAYS = {
    "k-fold": {"resampling": "k-fold", "folds": 5},
    "repeated": {"resampling": "repeated", "folds": 3, "repeats": 2},
    "bootstrap": {"resampling": "bootstrap", "repeats": 4},
    "time": {"time": "moment", "folds": 3},
    "group": {"group": "patient", "folds": 4},
}


@pytest.mark.parametrize("target", ["y", "t"])
@pytest.mark.parametrize("way", WAYS)
def test_rows_of_weight_zero_change_no_number_and_no_sentence(way, target):
    assert said(with_absent(counted()), target, **WAYS[way]) == said(counted(), target, **WAYS[way])


def test_leaving_one_out_leaves_out_rows_that_count():
    way = {"resampling": "leave-one-out", "params": {"linear-svc": {"C": 1.0}}}
    found = said(with_absent(counted(24)), "y", **way)
    assert found == said(counted(24), "y", **way)
    assert found["rows_tested"] == 24


def test_how_many_rows_count_decides_how_rows_are_set_aside():
    few = with_absent(counted(1600))  # 2400 rows, of which 1600 count: too few to hold out a part
    found = compare(few, "y", models=["baseline"], features=["a"], weight="w", workers=0)
    assert found.resampling.kind == "k-fold"
    assert {len(s.test) for s in found.splits} == {160}


def test_the_rows_held_out_are_chosen_by_number_and_those_of_weight_zero_are_not_asked():
    tables = [with_absent(counted()), with_absent(counted(), y="yes", t=0.1)]
    options = {"models": MODELS["y"], "features": ["a", "b"], "weight": "w", "resampling": "holdout", "workers": 0}
    first, other = (compare(t, "y", **options) for t in tables)
    assert (tables[0].w.to_numpy()[first.tested] == 1).all()
    for a, b in zip(first.entries, other.entries):
        assert a.risk == b.risk
        assert a.risk.n == len(first.tested)
        assert a.train_risk == b.train_risk
        (claim,) = [c for c in a.model.certificate_ if c.name == "held-out error"]
        assert int(claim.witness["rows"]) == len(first.tested)
        assert a.model.certificate_.verify(tables[0]).holds


def test_where_no_row_counts_nothing_can_be_compared():
    with pytest.raises(DataError, match="no rows"):
        compare(counted().assign(w=0.0), "y", models=["lda"], weight="w", workers=0)
