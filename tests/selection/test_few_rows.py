"""Under a budget that is too short for all rows, models are shown as they did with few, and it is said with how many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from budget_tables import ROWS, two_classes

import assay
from assay import compare
from assay.errors import ModelFileError
from assay.processes.supervisor import Outcome
from assay.selection import compare as compare_module
from assay.selection import few_rows, plan
from assay.selection.few_rows import FewRows, affordable
from assay.selection.held_out_rows import sampled
from assay.selection.table_model import TableModel

MODELS = ["lda", "gaussian-nb", "baseline"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return two_classes().assign(w=np.arange(ROWS) % 3 / 2)


@pytest.fixture
def short_of_time(monkeypatch):
    """Few rows are quick, and all of them would take for ever."""
    monkeypatch.setattr(few_rows, "MANY", 1000)
    monkeypatch.setattr(few_rows, "FIRST", 200)
    monkeypatch.setattr(few_rows, "_needed", lambda outcome, rows: 1e9)
    monkeypatch.setattr(few_rows, "affordable", lambda outcomes, seconds: 500)


@pytest.fixture
def found(table, short_of_time):
    return compare(table, "y", features=list("abc"), models=MODELS, budget=600.0, workers=0)


def test_every_model_is_finished_on_as_many_rows_as_the_time_allows(found):
    assert [entry.state for entry in found.entries] == ["done"] * 3
    assert {entry.learnt_from for entry in found.entries} == {500}
    assert {entry.risk.n for entry in found.entries} == {len(found.splits[0].test)}  # all rows held out
    n = len(found.splits[0].train)
    assert f"learnt from 500 of {n:,} rows".replace(",", " ") in found.verdict[1]
    assert ", ".join(entry.title for entry in found.entries) in found.verdict[1]  # by what people call them


def test_the_file_says_so_and_its_claims_hold(found, table, tmp_path):
    found.model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    assert loaded.model_.provenance_["split"]["sample"] == 500
    assert loaded.encoding_.statistics.n == 500
    verdicts = loaded.certificate_.verify(table)
    assert verdicts.holds, str(verdicts)
    assert not verdicts.notes  # the rows are those of the fit
    assert "held-out error" in [v.claim for v in verdicts]


def test_a_stream_begins_with_few_rows_too_and_finds_what_a_table_in_memory_does(
    found, table, short_of_time, tmp_path, monkeypatch
):
    table.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(plan, "memory_limit", lambda: 0)  # the whole table does not fit, a part does
    asked = {"features": list("abc"), "models": MODELS, "budget": 600.0, "workers": 0}
    streamed = compare(tmp_path / "t.parquet", "y", **asked)
    assert not streamed.data.in_memory
    assert [entry.learnt_from for entry in streamed.entries] == [500] * 3
    for entry in streamed.entries:
        same = found[entry.name]
        assert (entry.answers.values == same.answers.values).all()
        assert entry.model.calibration_.to_data() == same.model.calibration_.to_data()
    assert streamed.model.certificate_.verify(tmp_path / "t.parquet").holds


def test_a_stream_whose_held_out_rows_do_not_fit_is_not_brought_into_memory(
    table, short_of_time, tmp_path, monkeypatch
):
    table.to_parquet(tmp_path / "t.parquet")
    for module in (plan, few_rows):
        monkeypatch.setattr(module, "memory_limit", lambda: 0)
    monkeypatch.setattr(few_rows, "on_part", lambda *_: pytest.fail("rows were gathered"))
    asked = {"features": list("abc"), "models": ["gaussian-nb"], "budget": 600.0, "workers": 0}
    assert [e.learnt_from for e in compare(tmp_path / "t.parquet", "y", **asked).entries] == [None]


def test_on_demand_it_is_fitted_again_on_all_rows(found, table):
    again = found.refit()
    assert again.encoding_.statistics.n == len(table)
    (claim,) = [c for c in again.certificate_ if c.check == "measured_fit"]
    assert claim.witness["learnt"] == 500
    assert again.certificate_.verify(table).holds


def test_rows_of_no_weight_are_in_no_part(table, short_of_time):
    asked = {"weight": "w", "resampling": "holdout", "models": ["gaussian-nb"]}
    made = compare(table, "y", features=list("abc"), budget=600.0, workers=0, **asked)
    assert made.entries[0].learnt_from < 500
    assert made.model.certificate_.verify(table).holds


def test_where_there_is_time_all_rows_are_learnt_from(table, monkeypatch):
    monkeypatch.setattr(few_rows, "MANY", 1000)
    monkeypatch.setattr(few_rows, "_needed", lambda outcome, rows: 0.0)
    made = compare(table, "y", features=list("abc"), models=["gaussian-nb"], budget=600.0, workers=0)
    assert [entry.learnt_from for entry in made.entries] == [None]
    assert made.entries[0].trials[0].train_rows == len(made.splits[0].train)


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


def test_what_was_not_finished_on_all_rows_is_shown_as_it_did_with_few():
    few = FewRows(
        {"a": Outcome("a", "done", 1), "b": Outcome("b", "out of time"), "c": Outcome("c", "done", 1)}, [], True
    )
    full = [Outcome("a", "out of time"), Outcome("c", "done", 2)]
    ended = {o.key: (o.state, o.value) for o in few.filled([Named("a"), Named("b"), Named("c")], full)}
    assert ended == {"a": ("done", 1), "b": ("out of time", None), "c": ("done", 2)}


class Learnt:
    train_rows = 4000


def test_a_model_that_was_stopped_soon_has_another_turn_and_the_rows_are_gathered_once(
    table, short_of_time, monkeypatch
):
    """Half of the time is for the first turn: what was at work when it ended may have begun a moment before."""
    turns, gathered, run_all, on_part = [], [], compare_module.run_all, few_rows.on_part

    def stopped(who, work, limits, emit):
        turns.append([each.name for each in who])
        late = {"lda": 1.0, "gaussian-nb": 500.0} if len(turns) == 1 else {}
        ended = {o.key: o for o in run_all([e for e in who if e.name not in late], work, limits, emit)}
        return [ended.get(e.name) or Outcome(e.name, "out of time", seconds=late[e.name]) for e in who]

    monkeypatch.setattr(compare_module, "run_all", stopped)
    monkeypatch.setattr(few_rows, "on_part", lambda *given: gathered.append(given[2]) or on_part(*given))
    made = compare(table, "y", features=list("abc"), models=MODELS, budget=600.0, workers=0)
    assert turns[1] == ["lda"]
    assert gathered == [200, 500]
    assert made["lda"].done
    assert made["gaussian-nb"].state == "out of time"


def test_twice_the_time_affords_about_twice_the_rows():
    outcomes = [Outcome(name, "done", ([Learnt()],), seconds=1.3) for name in "ab"]
    once, twice = (affordable(outcomes, seconds) for seconds in (20.6, 40.6))
    assert once == 40_000
    assert twice == 80_000
    assert affordable(outcomes, 0.0) == 0


def test_a_sample_leaves_the_rows_held_out_as_they_are():
    mask = np.arange(100) % 4 == 0
    sides = sampled(mask, 30, 7)
    assert np.array_equal(sides == 1, mask)
    assert (sides == 0).sum() == 30
    assert np.array_equal(sampled(mask, 30, 7), sides)
    assert np.array_equal(sampled(mask, 200, 7) == 0, ~mask)


def test_a_file_that_learns_from_no_number_of_rows_is_refused(found):
    record = found.model.to_record()
    for wrong in (0, -5, 2.5, "many", True):
        record.provenance["split"] = {**record.provenance["split"], "sample": wrong}
        with pytest.raises(ModelFileError):
            TableModel.from_record(record)
