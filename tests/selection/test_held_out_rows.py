"""Which rows a stated split holds out: by number, by group or by time, and again the same when a model is verified."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import assay
from assay.cli import app
from assay.engines.derived import SplitSide, held_out_mask, split_rows
from assay.errors import DataError, ParameterError, SchemaError
from assay.selection.held_out_rows import groups_held_out, held_out_rows, latest
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows

FRACTIONS = st.floats(0.01, 0.99)
SEEDS = st.integers(0, 2**64 - 1)


def held_out(data, **split):
    source = table_source(data)
    return held_out_rows(source, TableRows(source, infer(source)), {"fraction": 0.3, "seed": 5, **split})


# --- by number --------------------------------------------------------------------------------------------------------


@given(st.integers(2, 300), FRACTIONS, SEEDS)
def test_by_number_the_rows_are_those_of_the_engines(n, fraction, seed):
    data = {"x": np.arange(n) / 7}
    mask = held_out(data, fraction=fraction, seed=seed)
    assert np.array_equal(mask, held_out_mask(0, n, fraction, seed))
    seen, out = split_rows(TableRows(table_source(data), infer(table_source(data))).in_memory(), fraction, seed)
    assert np.array_equal(seen.X[:, 0], data["x"][~mask])
    assert np.array_equal(out.X[:, 0], data["x"][mask])
    assert np.array_equal(SplitSide(fraction, seed, True)(3, n), held_out_mask(3, n, fraction, seed))


def test_by_number_a_file_that_does_not_say_its_length_is_split_likewise(tmp_path):
    frame = pd.DataFrame({"x": np.arange(1000) / 3, "y": [0, 1] * 500})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert np.array_equal(held_out(tmp_path / "t.csv"), held_out(frame))


# --- by group ---------------------------------------------------------------------------------------------------------

GROUPS = st.lists(st.sampled_from([f"patient {k}" for k in range(12)]), min_size=2, max_size=60)


@given(GROUPS, FRACTIONS, SEEDS, st.randoms())
def test_no_group_lies_on_both_sides_and_the_order_of_the_rows_does_not_matter(groups, fraction, seed, random):
    assume(len(set(groups)) > 1)
    mask = held_out({"g": groups, "x": np.arange(len(groups)) / 3}, fraction=fraction, seed=seed, group="g")
    out = {g for g, held in zip(groups, mask) if held}
    seen = {g for g, held in zip(groups, mask) if not held}
    assert not out & seen
    assert out
    assert seen
    order = list(range(len(groups)))
    random.shuffle(order)
    shuffled = {"g": [groups[i] for i in order], "x": np.arange(len(groups)) / 3}
    again = held_out(shuffled, fraction=fraction, seed=seed, group="g")
    assert np.array_equal(again, mask[order])


def test_of_many_groups_about_the_share_asked_for_is_held_out():
    names = [str(k) for k in range(20_000)]
    for fraction in (0.1, 0.25, 0.6):
        assert abs(groups_held_out(names, fraction, 3).mean() - fraction) < 0.015


def test_groups_of_other_types_are_those_of_their_names(tmp_path):
    numbers = np.arange(200) % 17
    frame = pd.DataFrame({"g": numbers, "x": np.arange(200) / 3})
    frame.to_csv(tmp_path / "t.csv", index=False)
    masks = [
        held_out(frame, group="g"),
        held_out(frame.assign(g=frame.g.astype(str)), group="g"),
        held_out(frame.assign(g=frame.g.astype("category")), group="g"),
        held_out(tmp_path / "t.csv", group="g"),
    ]
    assert all(np.array_equal(masks[0], other) for other in masks[1:])


@pytest.mark.parametrize("values", [["a", None, "b"], [1.5, float("nan"), 2.5]])
def test_a_missing_group_is_refused_with_its_row(values):
    with pytest.raises(DataError, match=r"group 'g' is missing in row 1 \(counted from 0\)"):
        held_out(pa.table({"g": values, "x": [1.0, 2.0, 3.5]}), group="g")


def test_a_single_group_cannot_be_split_and_an_unknown_column_is_named():
    with pytest.raises(DataError, match="one group, 'a'"):
        held_out({"g": ["a", "a"], "x": [1.0, 2.0]}, group="g")
    with pytest.raises(SchemaError, match=r"no column 'grup'.*Did you mean 'group'"):
        held_out({"group": ["a", "b"], "x": [1.0, 2.0]}, group="grup")


# --- by time ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), FRACTIONS)
def test_by_time_the_latest_are_held_out_ties_together_and_no_other_cut_is_nearer(times, fraction):
    assume(len(set(times)) > 1)
    times = np.array(times, float)
    mask = held_out({"t": times, "x": np.arange(len(times)) / 3}, fraction=fraction, time="t")
    assert times[mask].min() > times[~mask].max()
    off = abs(mask.mean() - fraction)
    assert all(off <= abs((times >= cut).mean() - fraction) + 1e-12 for cut in np.unique(times)[1:])


def test_without_ties_the_share_is_as_asked():
    assert latest(np.arange(100.0)[::-1], 0.25).sum() == 25
    assert latest(np.array([3.0, 1.0, 2.0, 4.0]), 0.5).tolist() == [True, False, False, True]


def test_many_rows_of_the_first_moment_leave_something_to_fit_on():
    assert latest(np.array([1.0] * 90 + [2.0] * 10), 0.25).sum() == 10


def test_dates_decimals_and_numbers_are_put_in_order_alike(tmp_path):
    rng = np.random.default_rng(0)
    day = rng.permutation(300)
    dates = [datetime.date(2020, 1, 1) + datetime.timedelta(int(d)) for d in day]
    base = {"x": rng.normal(size=300)}
    tables = [
        {**base, "t": day},
        {**base, "t": day / 2},
        {**base, "t": pa.array(dates)},
        {**base, "t": pa.array(dates).cast(pa.timestamp("ns"))},
        {**base, "t": pa.array(dates).cast(pa.timestamp("s")).cast(pa.timestamp("s", "Europe/Berlin"))},
        {**base, "t": [d.isoformat() for d in dates]},
        {**base, "t": pa.array(day.tolist(), pa.decimal128(5, 0))},
    ]
    masks = [held_out(pa.table(t), time="t") for t in tables]
    pd.DataFrame({"x": base["x"], "t": dates}).to_csv(tmp_path / "t.csv", index=False)
    masks.append(held_out(tmp_path / "t.csv", time="t"))
    assert all(np.array_equal(masks[0], other) for other in masks[1:])
    assert masks[0].sum() == 90


@pytest.mark.parametrize(
    "values",
    [pa.array([1.5, None, 2.5]), pa.array([1.5, float("nan"), 2.5]), pa.array([1, None, 2]), ["2024-01-01", None, "2024-01-02"]],
)  # fmt: skip
def test_a_missing_time_is_refused_with_its_row(values):
    with pytest.raises(DataError, match=r"time is missing in row 1 \(counted from 0\)"):
        held_out(pa.table({"t": values, "x": [1.0, 2.0, 3.5]}), time="t")


def test_times_that_cannot_be_ordered_are_refused_in_words():
    rows = {"x": [1.0, 2.0, 3.5]}
    with pytest.raises(DataError, match="same moment"):
        held_out({**rows, "t": [4, 4, 4]}, time="t")
    with pytest.raises(SchemaError, match="'t' should hold dates"):
        held_out({**rows, "t": ["a", "b", "c"]}, time="t")
    with pytest.raises(SchemaError, match="'t' holds times of day"):
        held_out(pa.table({**rows, "t": pa.array([1, 2, 3], pa.time64("us"))}), time="t")
    with pytest.raises(SchemaError, match="'t' should hold dates"):
        held_out(pa.table({**rows, "t": pa.array([1, 2, 3], pa.duration("us"))}), time="t")
    with pytest.raises(SchemaError, match=r"no column 'tme'.*Did you mean 'time'"):
        held_out({**rows, "time": [1, 2, 3]}, time="tme")


def test_by_group_and_by_time_at_once_is_refused():
    with pytest.raises(ParameterError, match="by group or by time, not by both"):
        held_out({"g": ["a", "b"], "t": [1, 2], "x": [1.0, 2.0]}, group="g", time="t")


# --- the whole way ----------------------------------------------------------------------------------------------------


def make_table(n=600):
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.05, np.nan, rng.normal(label, 1.0)),
            "tree": np.array(["ash", "birch", "elm"])[rng.integers(0, 3, n)],
            "patient": rng.integers(0, 40, n) + 1000,
            "at": np.datetime64("2024-01-01") + rng.integers(0, 200, n),
            "y": np.array(["no", "yes"])[label],
        }
    )
    return frame.sample(frac=1.0, random_state=0).reset_index(drop=True)


SPLITS = {"number": {}, "group": {"group": "patient"}, "time": {"time": "at"}}


@pytest.fixture
def shell(capfd):
    """Run a command line; its exit code and what it said."""

    def run(*words):
        capfd.readouterr()
        code = app.run([str(word) for word in words])
        return code, *capfd.readouterr()

    return run


def options(split):
    return [word for key, value in split.items() for word in (f"--{key}", value)]


@pytest.mark.parametrize("model", ["naive-bayes", "logistic-regression"])
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_a_model_trained_in_the_shell_is_verified_on_the_same_rows(tmp_path, shell, split, model):
    frame = make_table()
    data, out = tmp_path / "t.csv", tmp_path / "m.assay"
    frame.to_csv(data, index=False)
    code, _, said = shell("train", data, "--target", "y", "--model", model, "--out", out, *options(split))
    assert code == 0, said
    fitted = assay.load(out)
    stated = fitted._provenance["split"]
    assert stated == {"fraction": 0.25, "seed": 0, **split}
    mask = held_out_rows(table_source(data), TableRows(table_source(data), fitted.schema_), stated)
    assert (~mask).sum() == fitted.encoding_.statistics.n
    code, out_text, said = shell("verify", out, data, "--json")
    assert code == 0, out_text + said
    verdicts = json.loads(out_text)
    assert {"encoding", "held-out error"} <= {v["claim"] for v in verdicts["verdicts"]}
    assert not verdicts["notes"], "the rows are those of the fit, bit for bit"
    assert fitted.certificate_.verify(frame).holds


@pytest.mark.parametrize(("split", "column"), [({"group": "patient"}, "patient"), ({"time": "at"}, "at")])
def test_with_other_groups_or_times_the_rows_held_out_are_others_and_the_claims_fail(tmp_path, shell, split, column):
    frame = make_table()
    data, out = tmp_path / "t.csv", tmp_path / "m.assay"
    frame.to_csv(data, index=False)
    assert shell("train", data, "--target", "y", "--out", out, *options(split))[0] == 0
    frame.assign(**{column: frame[column].to_numpy()[::-1]}).to_csv(data, index=False)
    assert shell("verify", out, data)[0] == 4


@pytest.mark.parametrize("column", ["patient", "at"])
def test_by_group_or_time_the_rows_may_come_in_another_order(tmp_path, shell, column):
    frame = make_table()
    data, out = tmp_path / "t.csv", tmp_path / "m.assay"
    frame.to_csv(data, index=False)
    split = {"patient": {"group": "patient"}, "at": {"time": "at"}}[column]
    assert shell("train", data, "--target", "y", "--out", out, *options(split))[0] == 0
    frame.iloc[::-1].to_csv(data, index=False)
    code, out_text, _ = shell("verify", out, data)
    assert code == 0, out_text
    assert "fingerprint" in out_text


@pytest.mark.parametrize("split", [{"group": "patient"}, {"time": "at"}], ids=str)
def test_a_missing_group_or_time_is_said_in_the_shell(tmp_path, shell, split):
    (column,) = split.values()
    frame = make_table(50)
    frame[column] = frame[column].where(np.arange(50) != 7, None)
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, _, said = shell("train", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m", *options(split))
    assert code == 3
    assert "is missing in row 7" in said
    assert not (tmp_path / "m").exists()


def test_a_share_that_leaves_nothing_to_fit_on_is_said_in_the_shell(tmp_path, shell):
    make_table(4).to_csv(tmp_path / "t.csv", index=False)
    code, _, said = shell("train", tmp_path / "t.csv", "--target", "y", "--holdout", 0.9999, "--out", tmp_path / "m")
    assert code == 3
    assert "All 4 rows are held out" in said
