"""Questions that no model can answer are refused before any is fitted, with what to ask instead."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay
from assay import compare
from assay.errors import DataError, OneClassError, ParameterError
from assay.families import models
from assay.selection.candidates import counterpart
from assay.selection.plan import open_table
from assay.selection.training import train
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source


def table(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)}).assign(
        number=lambda t: t.a + rng.normal(size=n),
        label=lambda t: np.where(t.a > 0, "p", "q"),
        same=3.5,
        word="k",
        nothing=pd.Series([None] * n, dtype="float64"),
        rare=["u"] * (n - 1) + ["v"],
        rows=[f"r{i}" for i in range(n)],
        count=np.arange(n) * 7 % 113,
    )


WRONG_KIND = [
    ("number", "random-forest", "forest-regressor"),
    ("number", "svc", "svr"),
    ("number", "lda", "linear-regression"),
    ("label", "forest-regressor", "random-forest"),
    ("label", "svr", "svc"),
    ("label", "ridge", "logistic-regression"),
]


@pytest.mark.parametrize(("target", "name", "instead"), WRONG_KIND)
def test_a_model_of_the_other_kind_is_refused_with_the_one_to_take(target, name, instead):
    with pytest.raises(DataError, match=f"{name} .*{target}.* take {instead}"):
        train(table(), target, assay.families.model_class(name)(), features=["a", "b"])
    with pytest.raises(ParameterError, match=f"{name}: it .*{target}.* take {instead}"):
        compare(table(), target, models=[name], features=["a", "b"])


def test_whole_numbers_may_be_asked_for_as_classes():
    with pytest.raises(ParameterError, match=r"take svr, or ask for task='classification' \(--task classification\)"):
        compare(table(), "count", models=["svc"], features=["a", "b"])


HOPELESS = {
    "same": (DataError, "3.5 in all 120 rows"),
    "word": (OneClassError, "single class"),
    "nothing": (DataError, "missing in all 120 rows"),
    "rows": (DataError, "names rows"),
}


@pytest.mark.parametrize("target", HOPELESS)
def test_a_target_of_which_nothing_can_be_learnt_is_refused_by_both_verbs(target):
    error, words = HOPELESS[target]
    model = assay.Ridge() if target == "same" else assay.GaussianNB()
    with pytest.raises(error, match=words):
        compare(table(), target, features=["a", "b"])
    with pytest.raises(error, match=words):
        train(table(), target, model, features=["a", "b"])


def test_a_class_of_a_single_row_beside_one_other_cannot_be_tested():
    with pytest.raises(DataError, match="Class 'v' of the target 'rare' has a single row"):
        compare(table(), "rare", features=["a", "b"], resampling="holdout")
    third = table().assign(rare=lambda t: np.where(np.arange(120) < 40, "w", t.rare))
    source = table_source(third)
    open_table(source, infer(source, target="rare", features=["a", "b"]))  # two others are there to be told apart


def many_classes() -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(909) % 101 + np.arange(909) / 5000, "y": [f"k{i % 101}" for i in range(909)]})


def test_more_classes_than_can_be_set_against_each_other_are_left_out_with_the_reason():
    found = compare(many_classes(), "y", models=["svc", "baseline"], workers=0, resampling="holdout")
    assert dict(found.left_out) == {"svc": "each of 101 classes against each other are 5050 problems"}
    with pytest.raises(ParameterError, match="--multi-class ovr"):
        train(many_classes(), "y", assay.SVC())


def test_every_model_has_a_counterpart_of_the_other_kind():
    there = models()
    for cls in there.values():
        other = there[counterpart(cls)]
        assert other.kind_of({}) != cls.kind_of({})
