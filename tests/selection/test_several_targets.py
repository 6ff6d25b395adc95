"""Several targets of one table: each is compared as if the others were not there, and what is wrong with one is said before any is begun."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import ParameterError, SchemaError

FEW = {"models": ["baseline", "baseline-regressor", "lda", "linear-regression"], "folds": 2, "workers": 0}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(size=60)
    return pd.DataFrame(
        {"size": size, "price": 3 * size + rng.normal(size=60) / 9, "sold": np.where(size > 0, "yes", "no")}
    )


def only(found):
    """The risks of a comparison."""
    return {entry.name: entry.risk.value for entry in found.done}


def test_each_target_is_compared_as_if_the_others_were_not_there(frame):
    both = assay.compare_targets(frame, ["price", "sold"], **FEW)
    assert list(both) == ["price", "sold"]
    assert only(both["price"]) == only(assay.compare(frame[["size", "price"]], "price", **FEW))
    assert only(both["sold"]) == only(assay.compare(frame[["size", "sold"]], "sold", **FEW))
    answers = both.predict(frame[["size"]])  # the targets of new rows are not known
    assert answers["price"].dtype == float
    assert set(answers["sold"]) == {"yes", "no"}
    assert str(both) == repr(both)
    assert str(both["sold"]) in str(both)
    assert both._repr_html_().count("<table") >= 2
    assert type(both["sold"].table) is pd.DataFrame


def test_a_kind_is_said_of_a_target_where_it_is_one(frame):
    counted = frame.assign(sold=(frame["sold"] == "yes").astype(int))
    both = assay.compare_targets(counted, ["price", "sold"], kinds={"sold": "category"}, **FEW)
    assert both["sold"].task == "classification"


def test_what_is_wrong_is_said_before_any_is_begun(frame):
    begun: list[str] = []
    for targets, why, features in (
        (["price", "sol"], "no column 'sol'.*sold", None),
        (["price", "price"], "'price' is named twice", None),
        (["price", "sold"], "'sold' cannot be both a target and a feature", ["size", "sold"]),
        ([], "Which columns", None),
    ):
        with pytest.raises((ParameterError, SchemaError), match=why):
            assay.compare_targets(
                frame, targets, features=features, on_event=lambda key, event: begun.append(key), **FEW
            )
    assert begun == []


def test_a_budget_is_shared(frame):
    from assay.selection.several_targets import each_target

    shares = [how["budget"] for _, how in each_target(["a", "b", "c"], None, None, 30.0)]
    assert shares[0] == pytest.approx(10.0, abs=1.0)
    assert shares[2] == pytest.approx(30.0, abs=1.0)  # the others took no time
    assert [how["budget"] for _, how in each_target(["a"], None, None, 0.25)] == [pytest.approx(0.25)]
    assert [how["budget"] for _, how in each_target(["a"], None, None, None)] == [None]
