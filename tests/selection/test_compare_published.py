"""Published figures, found again by a comparison from the file to the verdict."""

from __future__ import annotations

import numpy as np
import pytest

from assay import compare

PLAIN_QDA = {"qda": {"reg_param": 0.0}}


@pytest.mark.parametrize(("data", "lda", "qda"), [("iris", 3, 4), ("wine", 2, 1)])
def test_leave_one_out_errors_of_discriminants_are_the_classical_ones(data_dir, data, lda, qda):
    """Iris: 3 and 4 of 150 wrong. Wine: 98.88 % and 99.44 % of 178 right (wine.names)."""
    options = {"models": ["lda", "qda"], "params": PLAIN_QDA, "resampling": "leave-one-out"}
    found = compare(data_dir / f"{data}.csv", "target", **options)
    n = len(found.data)
    assert round(found["lda"].risk.value * n) == lda
    assert round(found["qda"].risk.value * n) == qda
    assert len(found.splits) == n


def test_vowel_by_its_published_split_has_the_errors_of_elements_of_statistical_learning(data_dir):
    """Table 4.1, the first 528 rows to learn from: LDA .316 / .556, QDA .011 / .528."""
    split = [(np.arange(528), np.arange(528, 990))]
    found = compare(data_dir / "vowel.csv", "target", models=["lda", "qda"], params=PLAIN_QDA, resampling=split)
    assert found.task == "classification"
    assert len(found.data.classes) == 11
    assert [round(found["lda"].train_risk.value, 3), round(found["lda"].risk.value, 3)] == [0.316, 0.556]
    assert [round(found["qda"].train_risk.value, 3), round(found["qda"].risk.value, 3)] == [0.011, 0.528]


def test_prostate_by_its_published_split_has_the_published_test_error(data_dir, tmp_path):
    """ESL Table 3.3: least squares .521 on the 30 test rows (whatever the units of the columns)."""
    import pandas as pd

    table = pd.read_csv(data_dir / "prostate.csv")
    flag = next(c for c in table.columns if c.lower() == "train")
    learnt = table[flag].astype(str).str.upper().str[0].isin(["T", "1"]).to_numpy()
    split = [(np.flatnonzero(learnt), np.flatnonzero(~learnt))]
    target = "lpsa" if "lpsa" in table else "target"
    found = compare(table.drop(columns=flag), target, models=["linear-regression"], resampling=split)
    assert (len(split[0][0]), len(split[0][1])) == (67, 30)
    assert found["linear-regression"].risk.value == pytest.approx(0.521, abs=5e-4)


def test_the_letters_of_the_alphabet_are_told_apart():
    rng = np.random.default_rng(0)
    y = np.repeat([chr(97 + k) for k in range(26)], 12)
    X = rng.normal(size=(26, 6))[np.repeat(np.arange(26), 12)] * 4 + rng.normal(size=(312, 6))
    found = compare(X, y=y, models=["baseline", "lda", "gaussian-nb", "perceptron"], folds=3)
    assert [e.state for e in found.entries] == ["done"] * 4
    assert found["lda"].risk.value < 0.2
    assert found["baseline"].risk.value > 0.9
