"""Who takes part in a comparison follows from the registry and from what each class says of itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from odd_models import Guess, register

from assay.errors import ParameterError
from assay.families import REGISTRY, models
from assay.selection.candidates import ALIASES, candidates, features_of, registered
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source


def schema_of(**columns: object):
    return infer(table_source(pd.DataFrame(columns)), target="y")


NUMBERS = schema_of(a=np.arange(40) % 7 - 3.5, b=np.arange(40) % 5 / 2, y=["p", "q"] * 20)
WORDS = schema_of(a=["r", "s", "t", "u"] * 10, y=["p", "q"] * 20)


def names(*given: object, **options: object) -> list[str]:
    return [e.name for e in candidates(*given, **options)[0]]  # type: ignore[arg-type]


def test_every_registered_class_takes_part_as_classifier_or_regressor_or_says_why_not():
    for schema in (NUMBERS, WORDS):
        seen = set()
        for classes in (2, 0):
            taking_part, left_out = candidates(schema, classes)
            assert all(why for _, why in left_out)
            seen |= {e.name for e in taking_part} | {name for name, _ in left_out}
        kinds = [("classifier", features_of(schema, 2)), ("regressor", features_of(schema, 0))]
        spaces = {n: [cls.search_space(*asked) for asked in kinds] for n, cls in models().items()}
        named = {n for n, found in spaces.items() if any(space is not None and space.when_named for space in found)}
        assert seen | named == set(REGISTRY)
        assert not any(e.name in named for classes in (2, 0) for e in candidates(schema, classes)[0])
        for n in named:
            classes, space = (2, spaces[n][0]) if spaces[n][0] is not None else (0, spaces[n][1])
            if space.unfit is None:
                assert n in names(schema, classes, only=[n])
            else:
                with pytest.raises(ParameterError, match=space.unfit):
                    names(schema, classes, only=[n])


def test_a_class_that_cannot_use_the_columns_says_so():
    assert "multinomial-nb" in dict(candidates(NUMBERS, 2)[1])  # a column is below zero
    assert "categorical-nb" in dict(candidates(NUMBERS, 2)[1])
    assert "categorical-nb" in names(WORDS, 2)
    assert features_of(WORDS, 2).only_categories
    assert not features_of(NUMBERS, 2).never_negative


def test_other_names_and_exclusions():
    assert all(target in REGISTRY for target in ALIASES.values())
    assert registered("SVM") == "linear-svc"
    assert names(NUMBERS, 2, only=["svm", "nb"]) == ["linear-svc", "naive-bayes"]
    taking_part, left_out = candidates(NUMBERS, 2, without=["svm"])
    assert "linear-svc" not in [e.name for e in taking_part]
    assert ("linear-svc", "set aside") in left_out
    (why,) = dict(candidates(NUMBERS, 2, only=["lda", "ridge"])[1]).values()
    assert why == "it predicts numbers, and the target 'y' holds classes: take logistic-regression"


def test_a_model_that_is_named_twice_takes_part_once():
    assert names(NUMBERS, 2, only=["lda", "baseline", "lda"]) == ["lda", "baseline"]


def test_what_the_user_fixes_is_not_searched():
    (free,), _ = candidates(NUMBERS, 2, only=["linear-svc"])
    assert len(free.settings()) > 2
    (fixed,), _ = candidates(NUMBERS, 2, only=["linear-svc"], fixed={"svm": {"C": 3.0}})
    assert fixed.settings() == [{"C": 3.0}]
    (other,), _ = candidates(NUMBERS, 2, only=["linear-svc"], fixed={"linear-svc": {"max_iter": 50}})
    assert [s["C"] for s in other.settings()] == [s["C"] for s in free.settings()]
    assert all(s["max_iter"] == 50 for s in other.settings())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": ["lad"]}, "Did you mean 'lda'"),
        ({"without": ["lad"]}, "Did you mean 'lda'"),
        ({"fixed": {"lda": {"sover": "svd"}}}, "Did you mean 'solver'"),
        ({"only": ["ridge"]}, "No model is left to compare"),
        ({"only": ["lda"], "without": ["lda"]}, "set aside"),
    ],
)
def test_names_that_are_none_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        candidates(NUMBERS, 2, **options)


def test_settings_go_from_the_simplest_on_and_are_possible_for_their_class():
    for classes in (2, 0):
        for candidate in candidates(NUMBERS, classes)[0]:
            for setting in candidate.settings():
                assert set(setting) <= set(candidate.model().get_params())
                candidate.model(**setting)


def test_a_new_model_takes_part_by_being_registered(monkeypatch):
    register(monkeypatch, Guess)
    assert "guess" in names(NUMBERS, 2)
    assert "guess" not in names(NUMBERS, 0)
    assert models()["guess"] is Guess
