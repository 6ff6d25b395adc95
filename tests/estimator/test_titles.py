"""What models are called among people."""

from __future__ import annotations

import pytest

from assay.estimator.search_space import TableTraits, amounts_of, title_of
from assay.families import REGISTRY, model_class
from assay.selection.comparison import Entry

TABLE = {"rows": 1000, "only_categories": False, "never_negative": True, "text": False, "columns": 8}


@pytest.mark.parametrize("name", REGISTRY)
def test_every_model_has_a_title_and_says_its_settings_without_words_of_the_code(name):
    cls = model_class(name)
    for kind, classes in (("classifier", 3), ("regressor", 0)):
        space = cls.search_space(kind, TableTraits(classes=classes, **TABLE))
        for setting in () if space is None else space.search:
            title = title_of(cls, setting)
            assert title[0].isupper()
            assert len(title) <= 30
            assert not any(sign in title for sign in "=_-()")
            assert not any(
                "=" in said and said.split("=")[1][0].isalpha() for said in amounts_of(cls, setting, setting)
            )


def test_models_of_one_kind_are_told_apart_by_their_titles():
    for kind, classes in (("classifier", 3), ("regressor", 0)):
        spaces = {n: model_class(n).search_space(kind, TableTraits(classes=classes, **TABLE)) for n in REGISTRY}
        titles = [title_of(model_class(n), space.search[-1]) for n, space in spaces.items() if space is not None]
        assert len(set(titles)) == len(titles)


def test_an_entry_says_what_was_chosen():
    assert Entry("logistic-regression", "done", setting={"C": 10.0}).called == "Logistic regression (C=10)"
    assert (
        Entry("logistic-regression", "done", setting={"penalty": "l1", "C": 0.1}).called
        == "Logistic regression, L1 (C=0.1)"
    )
    assert Entry("random-forest", "done", setting={"n_estimators": 200}).called == "Random forest (200 trees)"
    assert (
        Entry("svc", "done", setting={"C": 10.0, "gamma": 0.1}).called
        == "Support vector machine, RBF (C=10, gamma=0.1)"
    )
    assert (
        Entry("erm", "done", setting={"loss": "hinge", "penalty": "l1", "lam": 0.1}).called
        == "Hinge loss, L1 (lambda=0.1)"
    )
    assert Entry("unheard-of", "failed").called == "unheard-of"
