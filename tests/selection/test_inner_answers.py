"""Settings are told apart by their errors, and by the log loss of calibrated probabilities where these cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from assay.engines.derived import held_out_mask
from assay.selection.calibration import MOST_ROWS
from assay.selection.candidates import candidates
from assay.selection.data import TableData
from assay.selection.inner_answers import InnerAnswers, not_told_apart
from assay.selection.plan import open_table
from assay.selection.trial import search_settings
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source

ROWS = 200


@pytest.fixture(scope="module")
def data() -> TableData:
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    frame = pd.DataFrame(rng.normal(size=(ROWS, 2)) + 1.2 * y[:, None], columns=list("ab")).assign(y=y)
    source = table_source(frame)
    return open_table(source, infer(source, target="y"))


def answers(data: TableData, *sures: float) -> InnerAnswers:
    """Settings that answer alike, wrong on every tenth row; of each how much surer it is where it is right."""
    y = data.codes
    said = np.where(np.arange(ROWS) % 10 == 3, 1 - y, y)
    wrong = (said != y).astype(float)
    scores = [np.where(np.arange(2) == said[:, None], (1 + sure * (1 - wrong))[:, None], 0.0) for sure in sures]
    rows = np.arange(ROWS)
    return InnerAnswers(rows, np.tile(wrong, (len(sures), 1)), rows, scores, [False] * len(sures))


def test_of_settings_with_equal_errors_the_one_of_least_log_loss_is_taken(data):
    found = answers(data, 0.0, 2.0, 0.5)
    choice = found.choose("zero-one", data, np.arange(ROWS), True)
    assert (choice.best, choice.chosen) == (0, 1)
    assert choice.calibration.after == min(c.after for c in found.calibrations(data, np.arange(ROWS), range(3)))
    assert found.choose("zero-one", data, np.arange(ROWS), False).chosen == 0


def test_a_setting_that_is_plainly_worse_is_not_taken_for_its_log_loss(data):
    found = answers(data, 0.0, 9.0)
    found.losses[1, :8] = 1.0
    assert found.choose("zero-one", data, np.arange(ROWS), True).chosen == 0


def test_risks_are_told_apart_by_what_the_rows_differ_in():
    losses = np.zeros((3, 400))
    losses[0, 100:200] = 1.0
    losses[1] = losses[0]
    losses[1, 0] = 1.0  # one more wrong, and no other difference
    losses[2, :101] = 1.0  # one more wrong, of 201 that differ
    assert not_told_apart(losses, 0).tolist() == [0, 2]


def test_answers_of_parts_are_those_of_the_whole(data):
    whole = answers(data, 0.0, 1.0)
    parts = [whole.at(np.arange(0, 90)), whole.at(np.arange(90, ROWS))]
    joined = InnerAnswers.joined(parts)
    assert np.array_equal(joined.losses, whole.losses)
    assert all(np.array_equal(a, b) for a, b in zip(joined.scores, whole.scores))


def test_the_inner_risk_of_a_loss_of_probabilities_is_that_of_calibrated_ones(data):
    one = candidates(data.schema, 2, only=["linear-svc"])[0][0]
    search = search_settings(one, data, np.arange(150), "log", 0)
    assert search.calibration.after == pytest.approx(search.risks[search.chosen])
    assert search.risks[search.chosen] < np.log(2)


def test_of_many_rows_some_are_scored_on_either_side_of_a_split(data):
    many = replace(data, y=np.tile(data.y, 200))  # nothing but their number counts
    held_out = held_out_mask(0, len(many), 0.25, 0)
    assert 0.9 * MOST_ROWS < many.scored.sum() < 1.1 * MOST_ROWS
    assert many.scored[held_out].mean() == pytest.approx(many.scored[~held_out].mean(), rel=0.1)
    few = np.flatnonzero(~many.scored)[:40]
    assert many.to_score(few).all()
