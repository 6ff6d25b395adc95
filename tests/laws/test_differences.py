"""What the documentation says of weights that are no repeated rows, and of scikit-learn's checks that fail, is what is so."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from cases import blobs, lines
from sklearn.utils.estimator_checks import estimator_checks_generator

import assay
from assay.errors import DataError
from assay.families import CLASS_NAMES, model_class

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
EQUIVALENCE = tuple(f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
FEW = {"n_estimators": 4, "random_state": 0}


def table(title):
    """The rows of the table under a title of the page."""
    text = PAGE.split(f"\n### {title}\n")[1].split("\n#")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)
    ][2:]


# --- weights and repetitions ----------------------------------------------------------------------------------------------

#: what stands in the second column of the page: models that differ, and the same ones set so that they do not
SETTINGS = {
    "`bootstrap=True` or `max_samples`": [
        (assay.RandomForestClassifier(**FEW), {"bootstrap": False}),
        (assay.RandomForestRegressor(**FEW), {"bootstrap": False}),
        (assay.ExtraTreesClassifier(bootstrap=True, **FEW), {"bootstrap": False}),
        (assay.ExtraTreesRegressor(max_samples=0.5, **FEW), {"max_samples": None}),
    ],
    "`min_samples_leaf`, `min_samples_split`": [
        (assay.DecisionTreeClassifier(min_samples_leaf=4), {"min_samples_leaf": 1}),
        (assay.DecisionTreeRegressor(min_samples_split=8), {"min_samples_split": 2, "min_weight_fraction_leaf": 0.05}),
        (assay.ExtraTreesRegressor(min_samples_leaf=3, **FEW), {"min_samples_leaf": 1}),
    ],
    "a number of `bins`, or more than 65 024 rows": [
        (assay.DecisionTreeClassifier(bins=4), {"bins": "auto"}),
        (assay.RandomForestRegressor(bins=4, bootstrap=False, **FEW), {"bins": "exact"}),
    ],
    '`ccp_alpha="cv"`': [(assay.DecisionTreeClassifier(ccp_alpha="cv"), {"ccp_alpha": 0.01})],
    "every `order` but `batch`": [(assay.Perceptron(), {"order": "batch"})],
    "any settings": [
        (assay.SGDClassifier(alpha=0.1), None),
        (assay.SGDRegressor(), None),
        (assay.PassiveAggressiveClassifier(), None),
        (assay.PassiveAggressiveRegressor(), None),
    ],
    "mini-batches": [
        (assay.MLPClassifier([4], max_iter=3, batch_size=10), {"batch_size": 1000}),
        (assay.MLPRegressor([4], max_iter=3, batch_size=10), {"solver": "lbfgs"}),
    ],
    '`metric="learned"`': [(assay.KNeighborsClassifier(metric="learned"), {"metric": "mahalanobis"})],
    "a number of folds": [(assay.LassoCV(), {"alphas": [0.05]}), (assay.ElasticNetCV(), {"alphas": [0.05]})],
    "several `alphas`": [
        (assay.RidgeCV(np.logspace(-3, 3, 40)), {"alphas": [0.5]}),
        (assay.RidgeClassifierCV(np.logspace(-3, 3, 40)), {"alphas": [0.5]}),
    ],
}


def differs(model, seed):
    """Whether weights give other answers than as many repetitions."""
    X, y = (blobs if hasattr(model, "class_weight") else lines)(60, 3, seed)
    times = np.random.default_rng(seed).integers(0, 4, 60)
    times[:12] = np.maximum(times[:12], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = type(model)(**model.get_params()).fit(X, y, sample_weight=times.astype(float))
        repeated = type(model)(**model.get_params()).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    answers = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    return not np.allclose(*(getattr(m, answers)(X) for m in (weighted, repeated)), rtol=1e-6, atol=1e-6)


def test_the_page_lists_the_settings_for_which_a_weight_is_no_repeated_row():
    assert [row[1] for row in table("Where a weight is no repeated row")] == list(SETTINGS)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_weight_is_no_repeated_row_where_the_page_says_so_and_else_it_is(setting):
    for model, plain in SETTINGS[setting]:
        assert any(differs(model, seed) for seed in range(4)), model
        if plain is not None:
            other = type(model)(**{**model.get_params(), **plain})
            assert not any(differs(other, seed) for seed in range(2)), (model, plain)


def test_many_rows_are_binned_by_their_number(monkeypatch):
    from assay.families.trees import codes

    assert codes.FEW_ROWS == 65_024
    assert not any(differs(assay.DecisionTreeClassifier(), seed) for seed in range(2))
    monkeypatch.setattr("assay.families.trees.training_data.FEW_ROWS", 70)  # 60 rows are few, those repeated many
    monkeypatch.setattr("assay.families.trees.codes.MOST_BINS", 8)
    assert any(differs(assay.DecisionTreeClassifier(), seed) for seed in range(4))


# --- scikit-learn's checks ------------------------------------------------------------------------------------------------


def documented():
    """{class: the checks that its default fails}, as the page says."""
    found = {}
    for names, checks, _ in table("Which of scikit-learn's checks fail"):
        for name in re.findall(r"`(\w+)`", names):
            found[name] = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in re.findall(r"`(\w+)`", checks)}
    return found


def failing(model):
    """The checks of weights as repetitions that a model fails; all others pass (test_sklearn_protocol.py)."""
    wrong = set()
    for made, check in estimator_checks_generator(model):
        name = getattr(check, "func", check).__name__
        if name in EQUIVALENCE:
            try:
                check(made)
            except (AssertionError, DataError):
                wrong.add(name)
    return wrong


@pytest.mark.parametrize("name", CLASS_NAMES)
def test_default_models_fail_the_checks_that_the_page_names_and_no_other(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert failing(model_class(CLASS_NAMES[name])()) == documented().get(name, set())
