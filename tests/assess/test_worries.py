"""Every worry shows where there is reason, and nothing is cried about where there is none."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import scipy.stats

from assay.assess import drift, overfitting, table_worries
from assay.assess.drift import drift_worries
from assay.assess.leaks import equal_rows
from assay.assess.score import proportion
from assay.errors import SchemaError


def clean(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return {
        "height": rng.normal(size=n) + y,
        "colour": rng.choice(np.array(["red", "green", "blue"], dtype=object), n),
        "count": rng.integers(0, 50, n),
    }, y


def titles(worries):
    return {w.title for w in worries}


def test_a_clean_table_gives_no_worries():
    for seed in range(5):
        assert table_worries(*clean(500, seed), *clean(300, 100 + seed)) == []


def test_rows_across_the_split_are_counted_exactly():
    (train, y), (test, y_new) = clean(200), clean(100, 1)
    for name in test:
        test[name][:7] = train[name][50:57]
    y_new[:7] = 1 - y[50:57]
    found = {w.title: w for w in table_worries(train, y, test, y_new)}
    assert found["held-out rows that are also training rows"].detail.startswith("7 of 100")
    assert found["held-out rows that are also training rows"].severity == "high"
    assert "fewer than 7 of the 300 rows wrong" in found["equal rows with different targets"].detail
    json.dumps([w.to_data() for w in found.values()])


def test_rows_that_meet_again_in_a_table_of_few_kinds_are_no_leak():
    rng = np.random.default_rng(6)
    table = {"sex": rng.choice(["f", "m"], 400), "grade": rng.integers(1, 6, 400)}
    y = rng.integers(0, 2, 400)
    parts = [{c: x[:300] for c, x in table.items()}, y[:300], {c: x[300:] for c, x in table.items()}, y[300:]]
    found = {w.title: w for w in table_worries(*parts)}["held-out rows that are also training rows"]
    assert found.severity == "low"
    assert "only 2% of all rows are distinct" in found.detail


def test_rows_are_equal_when_every_value_is_whatever_its_kind():
    a = {
        "x": np.array([0.0, np.nan, 1.0]),
        "s": np.array(["u", None, "v"], dtype=object),
        "big": np.array([2**60, 5, 7]),
    }
    b = {"x": np.array([-0.0, np.nan, 1.0]), "s": np.array(["u", None, "w"], dtype=object), "big": np.array([2**60 + 1, 5, 7])}  # fmt: skip
    assert equal_rows(a, b).tolist() == [0, 1, 2, 3, 1, 5]
    with pytest.raises(SchemaError, match="'s'"):
        equal_rows(a, {"x": a["x"], "big": a["big"]})


def test_names_of_rows_and_targets_in_disguise_are_found():
    (train, y), (test, y_new) = clean(300), clean(200, 1)
    train |= {"id": np.arange(300), "code": np.array([f"p{i}" for i in range(300)], dtype=object), "paid": 3.0 - 2 * y}
    test |= {"id": np.arange(300, 500), "code": np.array([f"p{i}" for i in range(300, 500)], dtype=object), "paid": 3.0 - 2 * y_new}  # fmt: skip
    found = {w.title: w for w in table_worries(train, y, test, y_new)}
    assert found["columns that look like names of rows"].columns == ("id", "code")
    assert found["a column that gives the target away"].columns == ("paid",)
    assert found["a column that gives the target away"].severity == "high"


def test_a_disguise_of_many_classes_in_words_and_of_a_number_is_found():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 5, 400)
    word = np.array([f"w{k}" for k in (y * 3) % 5], dtype=object)
    tangled = np.array([2.0, 9.0, 4.0, 7.0, 1.0])[y] + 0.1 * rng.random(400)
    table = {"word": word, "tangled": tangled, "other": rng.normal(size=400)}
    parts = [{c: x[:300] for c, x in table.items()}, y[:300], {c: x[300:] for c, x in table.items()}, y[300:]]
    given_away = [w.columns[0] for w in table_worries(*parts) if "gives the target away" in w.title]
    assert sorted(given_away) == ["tangled", "word"]
    z = rng.random(400)
    table = {"copy": np.exp(z), "other": z + rng.normal(size=400)}
    parts = [{c: x[:300] for c, x in table.items()}, z[:300], {c: x[300:] for c, x in table.items()}, z[300:]]
    found = [w.columns[0] for w in table_worries(*parts, classes=False) if "gives the target away" in w.title]
    assert found == ["copy"]


def test_constant_nearly_constant_missing_and_rare_are_named():
    rng = np.random.default_rng(3)
    y = np.array(["common"] * 4900 + ["rare"] * 95 + ["single"] * 5)
    table = {
        "one": np.full(5000, "x", dtype=object),
        "nearly": np.append(np.zeros(4998), [1.0, 2.0]),
        "empty": np.where(rng.random(5000) < 0.8, np.nan, rng.normal(size=5000)),
        "fine": rng.normal(size=5000),
    }
    found = {w.title: w for w in table_worries(table, y)}
    assert found["constant columns"].columns == ("one",)
    assert found["nearly constant columns"].columns == ("nearly",)
    assert found["columns mostly missing"].columns == ("empty",)
    assert "'single' (5)" in found["few rows of a class"].detail
    assert "always answering 'common' errs on 2.0 % only" in found["unbalanced classes"].detail
    assert [w.severity for w in table_worries(table, y)] == ["medium", "medium", "low", "low", "low"]


def test_drift_is_named_where_it_is_large_and_not_where_it_is_only_significant():
    rng = np.random.default_rng(4)
    n = 200_000
    before = {"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["x", "y"], n), "d": rng.normal(size=n)}
    after = {
        "a": rng.normal(size=n) + 0.05,
        "b": rng.normal(size=n) + 1.0,
        "c": rng.choice(["x", "y"], n, p=[0.8, 0.2]),
        "d": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
    }
    found = {d.column: d for d in drift(before, after)}
    assert found["a"].p < 1e-6
    assert [c for c in "abcd" if found[c].moved] == ["b", "c", "d"]
    assert found["b"].size == pytest.approx(2 * 0.6915 - 1, abs=0.01)
    assert found["c"].size == pytest.approx(0.3, abs=0.01)
    assert found["d"].missing == pytest.approx(0.3, abs=0.01)
    assert drift_worries(before, after)[0].severity == "high"
    with pytest.raises(SchemaError, match="no column in common"):
        drift({"a": before["a"]}, {"z": before["a"]})


def test_the_distances_of_drift_are_those_of_scipy():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=300), rng.normal(size=200) + 0.2
    u, v = rng.choice(["x", "y", "z"], 300), rng.choice(["x", "y", "z"], 200)
    found = {d.column: d for d in drift({"n": a}, {"n": b})} | {d.column: d for d in drift({"w": u}, {"w": v})}
    ks = scipy.stats.ks_2samp(a, b, method="asymp")
    assert found["n"].size == pytest.approx(ks.statistic)
    assert ks.pvalue <= found["n"].p <= 1.5 * ks.pvalue  # the limit law, on the safe side of scipy's corrected one
    table = [[(u == k).sum() for k in "xyz"], [(v == k).sum() for k in "xyz"]]
    assert found["w"].p == pytest.approx(scipy.stats.chi2_contingency(table).pvalue)


def test_equal_tables_rarely_drift():
    cried = 0
    for seed in range(60):
        cried += bool(drift_worries(clean(150, seed)[0], clean(80, 1000 + seed)[0]))
    assert cried <= 2


def test_overfitting_is_named_where_the_intervals_do_not_meet():
    assert titles(overfitting(proportion("error", 12, 1000), proportion("error", 98, 1000))) == {"overfitting"}
    assert overfitting(proportion("error", 90, 1000), proportion("error", 98, 1000)) == []


def test_random_parts_of_the_bank_neither_drift_nor_leak(data_dir):
    with open(data_dir / "bank_marketing.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = list(rows[0])
    table = {c: np.array([r[c] for r in rows], dtype=object) for c in names}
    for c in ("age", "balance", "duration"):
        table[c] = table[c].astype(float)
    y = table.pop("target").astype(str)
    pick = np.random.default_rng(0).random(len(y)) < 0.7
    found = table_worries({c: x[pick] for c, x in table.items()}, y[pick], {c: x[~pick] for c, x in table.items()}, y[~pick])  # fmt: skip
    assert not titles(found) & {"a column that gives the target away", "columns that have drifted"}
