"""Published figures of linear and quadratic discriminant analysis, digit for digit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


def table(data_dir, name):
    frame = pd.read_csv(data_dir / f"{name}.csv")
    return frame.drop(columns="target"), frame["target"].to_numpy()


def leave_one_out_errors(model, X, y):
    errors = 0
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        errors += model.fit(X[keep], y[keep]).predict(X[i : i + 1])[0] != y[i]
    return int(errors)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize(
    ("model", "train", "test"),
    [(LinearDiscriminantAnalysis, 0.316, 0.556), (QuadraticDiscriminantAnalysis, 0.011, 0.528)],
)
def test_the_vowel_errors_are_those_of_the_elements_of_statistical_learning(data_dir, model, train, test, unbiased):
    X, y = table(data_dir, "vowel")
    fitted = model(unbiased=unbiased).fit(X[:528], y[:528])
    errors = [1 - fitted.score(X[:528], y[:528]), 1 - fitted.score(X[528:], y[528:])]
    assert [round(e, 3) for e in errors] == [train, test]


@pytest.mark.parametrize(
    ("model", "percent"), [(LinearDiscriminantAnalysis, 98.88), (QuadraticDiscriminantAnalysis, 99.44)]
)
def test_the_wine_accuracy_is_that_of_the_data_sets_own_notes(data_dir, model, percent):
    X, y = table(data_dir, "wine")
    errors = leave_one_out_errors(model(n_jobs=1), X.to_numpy(), y)
    assert round(100 * (1 - errors / len(y)), 2) == percent


@pytest.mark.parametrize(("model", "errors"), [(LinearDiscriminantAnalysis, 3), (QuadraticDiscriminantAnalysis, 4)])
def test_the_iris_errors_are_the_classical_ones(data_dir, model, errors):
    X, y = table(data_dir, "iris")
    assert leave_one_out_errors(model(n_jobs=1), X.to_numpy(), y) == errors


def test_the_default_confusion_is_that_of_the_introduction_to_statistical_learning(data_dir):
    frame, y = table(data_dir, "islr_default")
    X = np.column_stack([frame["balance"], frame["student"] == "Yes"])
    answers = LinearDiscriminantAnalysis().fit(X, y).predict(X)
    confusion = [[int(np.sum((y == t) & (answers == a))) for a in ("No", "Yes")] for t in ("No", "Yes")]
    assert confusion == [[9644, 23], [252, 81]]
