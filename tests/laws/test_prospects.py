"""How every registered class says that it takes part in a comparison, and how complex its fits are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from cases import CASES, IDS, lines, pairs

import assay
from assay.estimator.params import check_names, check_params
from assay.estimator.search_space import Categories, SearchSpace, TableTraits
from assay.families import REGISTRY, model_class

KINDS = ("classifier", "regressor")
#: settings whose fits have ever more free numbers, as `complexity` counts them
GROWING = ["ridge", "logistic-regression", "linear-svc", "qda"]


def features(kind="classifier", only_categories=False, never_negative=True, text=False, spread=1.0):
    return TableTraits(1000, 3 if kind == "classifier" else 0, only_categories, never_negative, text, spread)


def every_table(kind):
    for only, positive, text in product((False, True), repeat=3):
        if not (only and text):
            yield features(kind, only, positive, text)


def prospects(name):
    for kind in KINDS:
        for table in every_table(kind):
            found = model_class(name).search_space(kind, table)
            if found is not None:
                yield kind, table, found


@pytest.mark.parametrize("name", REGISTRY)
def test_every_class_takes_part_for_its_kind_and_for_no_other(name):
    cls = model_class(name)
    kinds = {kind for kind, _, _ in prospects(name)}
    assert kinds
    assert cls.kind_of({}) in kinds
    for kind, _, search_space in prospects(name):
        assert isinstance(search_space, SearchSpace)
        assert all(cls.kind_of(dict(setting)) == kind for setting in search_space.search)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_setting_of_a_search_is_accepted_and_none_comes_twice(name):
    cls = model_class(name)
    for _, _, search_space in prospects(name):
        assert search_space.search
        for setting in search_space.search:
            check_names(cls, setting)
            check_params(cls(**setting))
        assert len({repr(sorted(setting.items())) for setting in search_space.search}) == len(search_space.search)


@pytest.mark.parametrize("name", REGISTRY)
def test_no_class_asks_for_an_encoding_that_it_cannot_take(name):
    cls = model_class(name)
    for _, _table, search_space in prospects(name):
        assert search_space.categories in Categories.__args__
        assert search_space.categories != "native" or cls.takes_categories
        if search_space.unfit is not None:
            assert 10 < len(search_space.unfit) < 120
            assert not search_space.unfit.endswith(".")


@pytest.mark.parametrize("name", REGISTRY)
def test_text_keeps_no_class_from_taking_part(name):
    """It becomes sparse words or dense components, as the class takes it."""
    for kind in KINDS:
        with_text, without = (model_class(name).search_space(kind, features(kind, text=t)) for t in (True, False))
        assert (with_text is None) == (without is None)
        assert with_text is None or with_text.unfit == without.unfit


def test_some_class_of_either_kind_can_use_any_table():
    for kind in KINDS:
        for table in every_table(kind):
            found = [model_class(name).search_space(kind, table) for name in REGISTRY]
            assert sum(p is not None and p.unfit is None for p in found) >= 2, table


def test_densities_are_only_tried_on_columns_that_they_describe():
    def unfit(name, **table):
        return model_class(name).search_space("classifier", features(**table)).unfit

    assert unfit("categorical-nb") is not None
    assert unfit("categorical-nb", only_categories=True) is None
    assert unfit("multinomial-nb", never_negative=False) is not None
    assert unfit("multinomial-nb", text=True) is None
    assert unfit("gaussian-nb", only_categories=True) is not None
    assert unfit("gaussian-nb") is None


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_search_of_huber_is_the_same_in_any_units(scale):
    X, y = lines(300, 4, 0)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y - y.mean()
    cls = model_class("erm")
    reference = cls.search_space("regressor", features("regressor", spread=float(y.std())))
    here = cls.search_space("regressor", features("regressor", spread=float(scale * y.std())))
    for one, other in zip(reference.search, here.search):
        a, b = cls(**one).fit(X, y), cls(**other).fit(X, scale * y)
        assert b.converged_
        assert np.allclose(scale * a.predict(X), b.predict(X), rtol=0, atol=0.01 * scale * y.std())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_fit_has_a_complexity_and_a_file_keeps_it(case, tmp_path):
    X, y = case.rows()
    model = case.model().fit(X, y)
    found = model.complexity()
    assert isinstance(found, float)
    assert 0 < found < np.inf
    model.save(tmp_path / "m.assay")
    assert assay.load(tmp_path / "m.assay").complexity() == found
    with pytest.raises(ValueError, match="not fitted"):
        case.model().complexity()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_complexity_is_that_of_the_fit_whatever_is_set_since(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    found = model.complexity()
    changes = {"fit_intercept": False, "priors": [0.2, 0.3, 0.5], "covariance": "isotropic", "alpha": 3.0, "C": 9.0}
    model.set_params(**{name: value for name, value in changes.items() if name in case.cls.params})
    assert model.complexity() == found


@pytest.mark.parametrize("name", GROWING)
def test_a_search_goes_from_simple_to_complex(name):
    cls = model_class(name)
    kind = cls.kind_of({})
    X, y = (pairs if kind == "classifier" else lines)(80, 6, 2)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    settings = cls.search_space(kind, features(kind)).search
    found = [cls(**setting).fit(X, y).complexity() for setting in settings]
    assert np.all(np.diff(found) > 0), found


def test_nothing_is_simpler_than_the_baseline():
    for case in CASES:
        X, y = case.rows()
        least = (assay.Baseline() if case.classifies else assay.BaselineRegressor()).fit(X, y).complexity()
        assert case.model().fit(X, y).complexity() >= least, str(case)
