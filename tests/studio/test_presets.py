"""Every figure is whole: valid data, models that fit, sentences of its own."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from figures import fitted, model_of, risk, rows_of

from assay.families import REGISTRY, model_class
from assay.studio.presets import BEYOND, PRESETS, SECTIONS

FIELDS = {"id", "group", "note", "title", "look", "data", "panels", "view", "speed", "show", "task"}
SHOWN = {
    *("margins", "support", "mistakes", "ellipses", "cells", "units", "neighbours", "residuals", "surface", "votes"),
    *("weight", "arithmetic", "box"),
}
NAMES = sorted(PRESETS)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_has_all_its_fields_and_is_plain_json(name):
    preset = PRESETS[name]()
    assert set(preset) >= FIELDS
    assert set(preset) - FIELDS <= {"asked", "axes"}
    assert preset["id"] == name
    assert preset["task"] in ("classes", "numbers")
    assert preset["speed"] > 0
    assert 1 <= len(preset["panels"]) <= 4
    assert set(preset["show"]) <= SHOWN
    assert json.loads(json.dumps(preset, allow_nan=False)) == preset


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_says_in_two_sentences_what_to_look_for(name):
    look = PRESETS[name]()["look"]
    assert len(look) == 2
    assert look[0] != look[1]
    assert all(30 < len(sentence) <= 200 and sentence.endswith(".") for sentence in look)


def test_no_two_presets_share_a_title_or_a_sentence():
    presets = [make() for make in PRESETS.values()]
    assert len({preset["title"] for preset in presets}) == len(presets)
    assert len({sentence for preset in presets for sentence in preset["look"]}) == 2 * len(presets)


@pytest.mark.parametrize("name", NAMES)
def test_the_points_of_a_preset_are_finite_inside_its_view_and_the_same_every_time(name):
    preset = PRESETS[name]()
    points = preset["data"]["points"]
    across, up = points["x"], points["y"] if preset["task"] == "classes" else points["target"]
    asked = preset.get("asked", [])
    for values, (low, high) in ((across, preset["view"]["x"]), (up, preset["view"]["y"])):
        assert all(math.isfinite(v) and low < v < high for v in values)
    assert all(preset["view"]["x"][0] < x < preset["view"]["x"][1] for x, _ in asked)
    assert len({len(column) for column in points.values()}) == 1
    assert len(across) <= 300
    assert PRESETS[name]() == preset


@pytest.mark.parametrize("name", NAMES)
def test_every_hyper_parameter_of_a_preset_is_one_that_its_model_accepts(name):
    for panel in PRESETS[name]()["panels"]:
        assert panel["model"] in REGISTRY
        table = model_class(panel["model"]).params
        for key, value in model_of(panel).get_params().items():
            assert table[key].accepts(value), (panel["model"], key, value)


@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_a_preset_fits_its_rows_and_answers_everywhere_in_the_view(name):
    preset = PRESETS[name]()
    models, X, y = fitted(name)
    across, up = (np.linspace(*preset["view"][axis], 12) for axis in "xy")
    plane = np.array([(a, b) for b in up for a in across]) if preset["task"] == "classes" else across[:, None]
    for model in models:
        answers = model.predict(plane)
        assert set(answers) <= set(y) if preset["task"] == "classes" else np.isfinite(answers).all()
        assert risk(model, X, y) <= (0.55 if preset["task"] == "classes" else np.var(y) + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_model_of_a_preset_plays_at_least_one_step_and_at_most_a_few_thousand(name):
    preset = PRESETS[name]()
    X, y = rows_of(preset)
    for panel in preset["panels"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert 1 <= sum(1 for _ in model_of(panel).steps(X, y)) <= 2100


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_names_its_note_and_section(name):
    named = SECTIONS.get(name, BEYOND)
    assert named == BEYOND or len(named) == 2
    assert PRESETS[name]()["note"] == " · ".join(named)


def test_no_section_is_of_a_figure_that_is_not_there():
    beyond = {"margins-grow", "sine-by-stumps"}  # boosting is not in the notes
    assert set(SECTIONS) == set(PRESETS) - beyond


def test_the_widest_margin_is_found_in_more_than_one_step_and_away_from_the_origin():
    models, X, y = fitted("widest-margin")
    steps = [list(model.steps(X, y)) for model in models]
    assert len(steps[1]) > 2
    assert all(abs(float(np.ravel(model.intercept_)[0])) > 0.1 for model in models)
    first, last = steps[1][0], steps[1][-1]
    assert not np.allclose(np.ravel(first.values["coef_"]), np.ravel(last.values["coef_"]), rtol=0.01)


def test_the_risk_falls_from_the_euclidean_to_the_learned_distance():
    models, X, y = fitted("what-near-means")
    assert risk(models[0], X, y) > 4 * risk(models[1], X, y) > 4 * risk(models[2], X, y)
