"""What a certificate covers is said whole and truly: every learnt number once, and none by a proof that another could stand in for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from cases import CASES, IDS, blobs, codes, lines

import assay
from assay.certify import Claim
from assay.certify.claim import Coverage, Covers
from assay.certify.registry import all_checks
from assay.errors import AssayError
from assay.families import models

MOST = 5  # entries of a part that are forged


@pytest.mark.parametrize("name", models())
def test_every_learnt_number_is_named_once(name):
    cls = models()[name]
    named = Counter(part for part in cls.coverage.named() if part in cls.layout)
    assert {part: named[part] for part in cls.layout} == dict.fromkeys(cls.layout, 1)


def test_what_is_named_is_learnt_by_some_model_and_tied_by_a_check_that_exists():
    layouts: dict[int, set[str]] = {}
    kinds = {id(cls.coverage): cls.coverage for cls in models().values()}
    for cls in models().values():
        layouts.setdefault(id(cls.coverage), set()).update(cls.layout)
    for key, coverage in kinds.items():
        assert set(coverage.named()) <= layouts[key]
        assert set(" ".join([*coverage.proof, *coverage.estimate]).split()) <= set(all_checks())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_certificate_names_every_part_of_the_fit_and_help_tells_of_them(case):
    model = case.model().fit(*case.rows(40, 3))
    covers, record = model.certificate_.covers, model.to_record()
    there = {k for k, v in {**record.arrays, **record.facts}.items() if np.size(v)}
    named = [*covers.proof, *covers.estimate, *covers.nothing]
    assert Counter(named) == Counter(there)
    assert "by proof: " + ", ".join(covers.proof) in " ".join(" ".join(str(model.certificate_).split()).split())
    told = " ".join(case.cls.__doc__.split())
    assert all(part in told for part in named)
    assert covers.but in told


def test_what_no_claim_holds_for_is_covered_by_nothing():
    coverage = Coverage(proof={"a b": "x y"}, estimate={"c": "z"}, nothing="n", but="more")
    sure, guess = Claim("p", "", True, "b"), Claim("q", "", True, "c", kind="estimate")
    parts = ("x", "y", "z", "n")
    assert coverage.of((sure, guess), parts) == Covers(("x", "y"), ("z",), ("n",), "more")
    assert coverage.of((guess,), parts) == Covers((), ("z",), ("x", "y", "n"), "more")
    assert coverage.of((replace(sure, holds=False),), parts) == Covers((), (), parts, "more")
    assert coverage.of((replace(sure, kind="estimate"),), parts).estimate == ("x", "y")
    assert coverage.of((), ()) == Covers(but="more")


# --- truth: a part that is tied by a proof cannot be another ------------------------------------------------------------


def forged(record, part, at):
    """The record with one entry of a part noticeably changed."""
    value = record.arrays.get(part, record.facts.get(part))
    if not isinstance(value, np.ndarray):
        changed = list(value) if isinstance(value, list) else [value]
        changed[at] = other(changed[at], 1.0)
        return replace(record, facts={**record.facts, part: changed if isinstance(value, list) else changed[0]})
    array = value.copy()
    size = float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) if array.dtype.kind == "f" else 1.0
    array.flat[at] = other(array.flat[at], size or 1.0)
    return replace(record, arrays={**record.arrays, part: array})


def other(value, size):
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | np.integer):
        return value + 1
    return value + 0.25 * max(abs(value), 0.5 * size) * (-1 if value > 0 else 1) if np.isfinite(value) else 0.0


def accepted(cls, record, X, y):
    """Whether a forged record is loaded and, its claims made anew to say what follows from its parts, verified."""
    try:
        model = cls.from_record(record)
        model._claims = model._own_claims()
        return model.certificate_.verify(X, y).holds
    except (AssayError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


def assert_tied(model, X, y):
    record = model.to_record()
    assert model.certificate_.covers.proof
    for part in model.certificate_.covers.proof:
        value = record.arrays.get(part, record.facts.get(part))
        places = np.unique(np.linspace(0, max(1, np.size(value)) - 1, MOST).round().astype(int))
        loose = [at for at in places if accepted(type(model), forged(record, part, at), X, y)]
        assert not loose, (part, loose)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_no_other_number_stands_in_for_one_that_is_proved(case):
    X, y = case.rows(40, 3)
    model = case.model().fit(X, y)
    assert model.certificate_.verify(X, y).holds
    assert_tied(model, X, y)


def singular(n, d, seed):
    """A class whose rows lie in a plane."""
    X, y = blobs(n, d, seed)
    X = X.copy()
    X[y == 1, 0] = 2.0
    return X, y


SOME = {
    "singular covariance": (assay.QuadraticDiscriminantAnalysis(), singular),
    "categories": (assay.DecisionTreeClassifier(categorical_features=[0, 1]), codes),
    "bins": (assay.DecisionTreeClassifier(bins=4), blobs),
    "categories of a forest": (assay.RandomForestClassifier(3, categorical_features=[0, 1]), codes),
    "quantiles": (assay.RandomForestRegressor(3, quantiles=True), lines),
    "all columns and thresholds": (assay.DecisionTreeRegressor(criterion="absolute_error"), lines),
    "some columns": (assay.DecisionTreeClassifier(max_features=1), blobs),
    "learned metric": (assay.KNeighborsClassifier(metric="learned"), blobs),
    "maximum likelihood": (assay.LogisticRegression(C=float("inf")), blobs),
    "linear kernel": (assay.SVC(kernel="linear"), blobs),
    "silent units": (assay.MLPClassifier([8], alpha=0.0, max_iter=5), blobs),
}


@pytest.mark.parametrize("name", SOME)
def test_no_other_number_stands_in_for_one_that_is_proved_in_special_cases(name):
    model, data = SOME[name]
    X, y = data(40, 3, 0)
    assert_tied(model.fit(X, y), X, y)


def test_a_threshold_among_bins_or_of_a_forest_is_not_said_to_be_proved():
    X, y = blobs(60, 3, 0)
    assert "cut_" in assay.DecisionTreeClassifier().fit(X, y).certificate_.covers.proof
    for model in (assay.DecisionTreeClassifier(bins=4), assay.RandomForestClassifier(3)):
        assert "cut_" in model.fit(X, y).certificate_.covers.nothing


def test_leaves_are_proved_only_where_all_trees_are_looked_at(monkeypatch):
    X, y = blobs(60, 3, 0)
    assert "table_" in assay.RandomForestClassifier(4).fit(X, y).certificate_.covers.proof
    monkeypatch.setattr("assay.families.trees.claims.MOST_VISITS", 120)
    assert "table_" in assay.RandomForestClassifier(4).fit(X, y).certificate_.covers.nothing


def test_a_table_says_whether_its_encoding_is_covered():
    import pandas as pd

    X, y = blobs(60, 3, 0)
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(kind=y.astype(str))
    model = assay.train(frame, "kind", assay.GaussianNB())
    assert "encoding" in model.certificate_.covers.proof
    assert replace(model.certificate_, claims=()).covers.nothing[-2:] == ("encoding", "calibration")
