"""What follows from the answers: Occam's rule, "cannot tell", a baseline that wins on noise, intervals for every number."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay
from assay import compare
from assay.assess.distinct_rows import effective_rows
from assay.assess.paired import SAME, corrected_rows_t, mcnemar
from assay.certify.held_out import clopper_pearson
from assay.errors import DataError
from assay.selection.text import interval, number, wrap


def table(n: int = 200, seed: int = 0, shift: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, 4)) + shift * y[:, None]
    return pd.DataFrame(X, columns=list("abcd")).assign(y=y)


@pytest.fixture(scope="module")
def folds() -> assay.Comparison:
    return compare(table(), "y", folds=5, without=["erm"])


@pytest.fixture(scope="module")
def held_out() -> assay.Comparison:
    return compare(table(2400, shift=0.6), "y", without=["erm"])


@pytest.mark.parametrize("which", ["folds", "held_out"])
def test_the_recommended_model_is_the_simplest_of_those_as_good_as_the_best(which, request):
    found = request.getfixturevalue(which)
    losses = {e.name: found.losses(e.name) for e in found.done}
    risks = {name: float(each.mean()) for name, each in losses.items()}
    assert risks[found.best] == min(risks.values())
    best, n = losses[found.best], len(found.tested)
    shared = 0.0 if len(found.splits) == 1 else 1 / np.mean([len(s.train) for s in found.splits])

    def near(name: str) -> bool:  # within one standard error of the paired difference
        apart = (losses[name] - best).std(ddof=1) * math.sqrt(1 / n + shared)
        return risks[name] - risks[found.best] <= apart

    within = [e for e in found.done if near(e.name)]
    assert {e.name for e in found.done if e.within} == {e.name for e in within}
    assert found[found.simplest].complexity == min(e.complexity for e in within)
    cheap = [
        e
        for e in within
        if risks[e.name] <= 1.02 * risks[found.best] and log_loss(e) <= 1.02 * log_loss(best_of(found))
    ]
    assert found[found.recommended].complexity == min(e.complexity for e in cheap)
    places = [(e.risk.value, log_loss(e)) for e in found.done]
    assert places == sorted(places)


def best_of(found: assay.Comparison) -> Any:
    return found[found.best]


def log_loss(entry: Any) -> float:
    return next((s.value for s in entry.scores if s.name == "log loss"), math.inf)


def test_on_held_out_rows_mcnemar_says_who_can_be_told_apart(held_out):
    assert held_out.resampling.kind == "holdout"
    best = held_out[held_out.best]
    others = [e for e in held_out.done if e is not best]
    for entry in others:  # one-sided, of all differences together: between that of one and the sum over all
        sided = [
            mcnemar(held_out.truth, entry.answers.values, e.answers.values) for e in held_out.done if e is not entry
        ]
        least = min(t.p / 2 if t.difference > 0 else 0.5 for t in sided)
        test = entry.against_best
        assert (1 - 1e-3) * least <= test.p <= max(1.0 if least == 0.5 else 0.0, (1 + 1e-3) * len(sided) * least)
        assert (test.verdict == SAME) == (test.p >= 0.05)
        assert test.low <= test.difference <= test.high <= 0 or test.verdict == SAME
    assert held_out["baseline"].against_best.p < 1e-6
    assert best.against_best is None
    assert best.risk.kind == "exact"


def test_on_folds_the_corrected_t_test_says_who_can_be_told_apart(folds):
    best = folds[folds.best]
    test = corrected_rows_t(folds.losses(best.name), folds.losses("baseline"), 160)
    assert folds["baseline"].against_best.difference == pytest.approx(test.difference)
    assert folds["baseline"].against_best.p >= test.p / 2
    assert folds["baseline"].against_best.name == "corrected paired t, with the best (Hsu)"
    assert any("with 95 % confidence the really best is none of them" in s for s in folds.verdict)
    assert all(e.risk.kind == "approximate" for e in folds.done)  # several fits are no one fit
    shown = str(folds)
    same = [e for e in folds.done if e.against_best is not None and e.against_best.verdict == SAME]
    assert sum("  unsure " in line for line in shown.splitlines()) == len(same)
    assert same


def test_on_noise_the_baseline_is_taken_and_the_verdict_says_so():
    won = 0
    for seed in range(3):
        found = compare(table(160, seed, shift=0.0), "y", models=["baseline", "lda", "qda", "linear-svc"], workers=0)
        if found.recommended == "baseline":
            won += 1
            assert any("No model can be shown to beat always giving the same answer" in s for s in found.verdict)
        assert not any(e.against_best is not None and e.against_best.p < 0.01 for e in found.done)
    assert won >= 2


def test_a_row_tested_again_is_no_new_row():
    """Five times over the same rows: the interval is no narrower than that of once."""
    once = compare(table(), "y", models=["lda", "baseline"], folds=4, workers=0)
    often = compare(table(), "y", models=["lda", "baseline"], folds=4, repeats=5, workers=0)
    assert len(often.tested) == 5 * len(once.tested)
    risk = often["lda"].risk
    assert risk.value == pytest.approx(often.losses("lda").mean())
    worth = effective_rows(200, 150)  # fits of three of four folds
    assert (risk.low, risk.high) == pytest.approx(clopper_pearson(risk.value * worth, worth))
    widths = [{s.name: s.high - s.low for s in found["lda"].scores} for found in (once, often)]
    for name, width in widths[0].items():
        assert widths[1][name] > 0.8 * width, name
    claim = next(c for c in often.model.certificate_ if c.name == "cross-validated error")
    assert claim.bound == pytest.approx(risk.high)


def scores_in(data: Any) -> list[dict[str, Any]]:
    if isinstance(data, list):
        return [s for each in data for s in scores_in(each)]
    if not isinstance(data, dict):
        return []
    return [data] if {"value", "better"} <= data.keys() else [s for each in data.values() for s in scores_in(each)]


@pytest.mark.parametrize("loss", ["zero-one", "log", "brier", "squared", "absolute"])
def test_every_number_has_an_interval_and_json_is_valid(loss, folds):
    target = table().a if loss in ("squared", "absolute") else table().y
    data, options = table().drop(columns=["a", "y"]).assign(t=target), {"folds": 2, "without": ["erm"]}
    found = folds if loss == folds.loss else compare(data, "t", loss=loss, **options)
    data = json.loads(found.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    scores = scores_in(data["models"])
    done = [m for m in data["models"] if m["state"] == "done"]
    assert len(scores) >= 3 * len(done)
    for score in scores:
        assert score["low"] is not None, score
        assert score["low"] <= score["value"] <= score["high"]
        assert score["kind"] in ("exact", "approximate")
    for model in done:
        assert model["risk"] == model["scores"][0]
        assert model["train_risk"]["n"] > 0
        test = model["against_best"]
        assert test is None or test["low"] <= test["difference"] <= test["high"]


def test_training_and_held_out_risk_stand_side_by_side_and_overfitting_is_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 55))
    found = compare(X, y=np.arange(60) % 2, models=["qda", "linear-svc"], params={"svm": {"C": 1000.0}}, workers=0)
    entry = found["linear-svc"]
    assert entry.train_risk.value < 0.05
    assert entry.risk.value > 0.3
    assert not any("overfit" in w.title or "simpler" in w.what_to_do for w in found.worries)  # the winner has won
    assert found.recommended != "linear-svc" or "by heart" in " ".join(found.verdict)


def test_the_text_fits_eighty_columns_and_so_does_the_html(folds, held_out):
    for found in (folds, held_out):
        lines = str(found).splitlines()
        assert max(map(len, lines)) <= 80
        assert sum(line.startswith("→ ") for line in lines) == 1
        for entry in found.done:
            row = next(line for line in lines if line[2:].startswith(entry.title))
            assert row.endswith(" s")
        assert all(entry.name in str(found) for entry in found.entries)  # as it is typed
        assert found._repr_html_().count("<tr>") == len(found.entries) + 1


def test_no_line_begins_with_the_sign_of_an_amount():
    assert wrap("error 22.1 % (15.8 % to 29.5 %)", 18) == ["error 22.1 %", "(15.8 % to 29.5 %)"]
    assert wrap("error 22.1 % (15.8 % to 29.5 %)", 18, initial_indent="  ")[0] == "  error 22.1 %"


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_the_text_fits_eighty_columns_whatever_the_units(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    models = ["baseline-regressor", "linear-regression", "ridge", "tree-regressor", "knn-regressor"]
    found = compare(X, y=scale * (X[:, 0] + rng.normal(size=60)), workers=0, folds=3, models=models)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    for entry in found.done:
        assert next(line for line in lines if line[2:].startswith(entry.title.split(",")[0][:12])).endswith(" s"), str(
            found
        )


def test_shares_are_shown_in_per_cent_and_tiny_ones_are_not_rounded_to_nothing(held_out):
    risk = held_out["baseline"].risk
    assert number(replace(risk, value=0.00042)) == "0.042 %"
    assert interval(risk).endswith(" %")


def test_worries_are_five_at_most_and_the_worst_are_kept(monkeypatch):
    from assay.assess import Worry
    from assay.selection import judge

    many = [Worry("low", f"small {k}", "", "") for k in range(6)] + [Worry("high", "grave", "", "")]
    monkeypatch.setattr(judge, "concerns", lambda found: many)
    found = compare(table(60), "y", models=["baseline", "lda"], folds=2, workers=0)
    assert [w.title for w in found.worries] == ["grave", "small 0", "small 1", "small 2", "small 3"]


def test_asking_for_a_model_that_did_not_take_part_names_the_nearest(folds):
    with pytest.raises(KeyError, match="lda"):
        folds["ldaa"]
    assert folds["svm"].name == "linear-svc"


def test_a_baseline_that_cannot_be_told_from_the_best_is_named_in_the_verdict():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 2.5 * rng.normal(size=60) > 0).astype(int)
    found = compare(X, y=y, models=["baseline", "lda", "gaussian-nb"], workers=0)
    base = found["baseline"]
    assert base.against_best is None or base.against_best.verdict == SAME
    words = (
        "cannot tell even that from the best" if found.recommended != "baseline" else "No model can be shown to beat"
    )
    assert words in " ".join(found.verdict)


def test_why_a_model_failed_is_told_whole_within_eighty_columns(monkeypatch):
    from odd_models import Raises, register

    register(monkeypatch, Raises)
    monkeypatch.setattr(Raises, "misbehave", lambda self: (_ for _ in ()).throw(DataError("a long story " * 9 + "end")))
    found = compare(table(60), "y", models=["raises", "lda"], folds=3, workers=0)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert "a long story end" in " ".join(" ".join(lines).split())


def visits(patients: int, each: int, seed: int) -> pd.DataFrame:
    """Visits of patients, all alike but for their number: the first column tells a little more of them than the second."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, patients)
    columns = {name: y + rng.normal(scale=1.2, size=patients) for name in ("a", "b")}
    once = pd.DataFrame({**columns, "patient": [f"p{i}" for i in range(patients)], "y": y})
    return once.loc[np.arange(patients).repeat(each)].reset_index(drop=True)


@pytest.mark.parametrize("plan", [{"folds": 5}, {"resampling": "holdout", "share": 0.5}])
def test_rows_of_a_group_are_no_independent_rows(plan):
    """The same visit ten times over tells who is better no more than once: neither tests nor intervals may grow surer by it."""
    models = {"models": ["baseline", "lda", "decision-tree"], "group": "patient", "workers": 0, "refit": False, **plan}
    often = compare(visits(60, 10, 1), "y", **models)
    tests = {e.name: e.against_best for e in often.done if e.against_best is not None}
    groups = len(np.unique(often.data.groups[often.tested]))
    for name, test in tests.items():
        assert test.n == groups, name
        losses = often.losses(name) - often.losses(str(often.best))
        sums = pd.Series(losses).groupby(often.data.groups[often.tested]).sum() * groups / len(losses)
        assert test.difference == pytest.approx(-sums.mean())
    for entry in often.done:
        low, high = clopper_pearson(entry.risk.value * groups, groups)
        assert entry.risk.high - entry.risk.low >= 0.9 * (high - low), entry.name
        assert entry.risk.kind == "approximate"
