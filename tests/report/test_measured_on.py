"""The ranking says by which answers the risks were measured: held out, by folds, on rows left out of a bootstrap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay import compare
from assay.selection.model_report import comparison_of
from assay.selection.sentences import measured_on

pytest.importorskip("matplotlib")

from assay.report.overview import picture_section, ranking_section


def table(n: int = 48) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return pd.DataFrame({"a": rng.normal(size=n) + y, "b": rng.normal(size=n), "y": np.where(y, "yes", "no")}).assign(
        patient=np.arange(n) // 6, moment=np.arange(n)
    )


HALF = np.arange(24)
WAYS = {
    "by 4-fold cross-validation": {"folds": 4},
    "by 4-fold cross-validation, groups kept whole": {"folds": 4, "group": "patient"},
    "by 2 times 3-fold cross-validation": {"folds": 3, "repeats": 2},
    "by leaving out one row at a time": {"resampling": "leave-one-out"},
    "by leaving out one group at a time": {"resampling": "leave-one-out", "group": "patient"},
    "on rows left out of 3 bootstrap samples": {"resampling": "bootstrap", "repeats": 3},
    "on later rows than learnt from, in 3 steps": {"resampling": "time", "folds": 3},
    "on the 24 held-out rows, the latest": {"resampling": "holdout", "share": 0.5, "time": "moment"},
    "on the test rows of 2 given splits": {"resampling": [(HALF, HALF + 24), (HALF + 24, HALF)]},
}


@pytest.mark.parametrize("words", WAYS)
def test_figure_and_caption_say_how_risks_were_measured(words):
    found = compare(table(), "y", models=["baseline", "lda"], features=["a", "b"], workers=0, **WAYS[words])
    assert measured_on(found) == words
    section = str(ranking_section(found)) + str(picture_section(found))
    assert f"Models ranked: error {words};" in section
    assert f"error {words}" in section[section.index("<svg") :]


def test_held_out_rows_are_counted():
    found = compare(table(), "y", models=["baseline", "lda"], features=["a"], resampling="holdout", workers=0)
    assert measured_on(found) == f"on {len(found.tested)} held-out rows"


def test_of_a_saved_model_it_is_said_whether_its_rows_were_those_of_the_fit():
    model = compare(table(), "y", models=["lda"], features=["a", "b"], folds=3, workers=0).model
    assert measured_on(comparison_of(model, table())) == "on rows that the model was fitted on"
    assert measured_on(comparison_of(model, table()[:30])) == "on rows of another table than that of the fit"
