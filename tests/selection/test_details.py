"""The details of one model of a comparison: they agree with its entry and with closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from assay.assess.distinct_rows import effective_rows
from assay.certify.held_out import clopper_pearson
from assay.errors import DataError
from assay.selection.compare import compare
from assay.selection.comparison import Comparison, Entry
from assay.selection.details import correlation, details, refit_sides
from assay.selection.raw_rows import RawRows


@pytest.fixture(scope="module")
def found() -> Comparison:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 160)
    frame = pd.DataFrame(
        {
            "height": rng.normal(2.0 * kind, 1.0),
            "noise": rng.normal(size=160),
            "soil": rng.choice(["clay", "sand", None], 160),
            "when": pd.date_range("2021-03-01", periods=160),
            "wet": rng.random(160) > 0.5,
            "tree": np.where(kind == 1, "oak", "elm"),
        }
    )
    return compare(frame, "tree", folds=4, models=["lda", "linear-svc", "baseline"])


def test_confusion_and_curves_agree_with_the_scores(found):
    entry, d = found["lda"], details(found, "lda")
    C = d.confusion
    assert C.sum() == len(found.tested)
    assert entry.risk.value == pytest.approx(1 - np.trace(C) / C.sum())
    auc = next(s for s in entry.scores if s.name == "AUC")
    assert d.roc.area.value == pytest.approx(auc.value, abs=1e-6)
    assert [c.n for c in d.per_class] == np.bincount(found.truth).tolist()


def every_score(d):
    """All scores of a model's details by name."""
    yield from ((s.name, s) for c in d.per_class for s in (c.precision, c.recall, c.f1))
    yield from (("bin", b.observed) for b in d.reliability.bins)
    yield from [("calibration", d.reliability.error), ("cost", d.thresholds.best_cost)]
    yield from [("roc", d.roc.area), ("precision–recall", d.precision_recall.area)]
    yield from (("group", g.risk) for groups in d.groups.values() for g in groups)


def test_answers_of_several_fits_have_no_exact_interval(found):
    d = details(found, "lda")
    assert d.several
    assert {kind for _, s in every_score(d) for kind in [s.kind]} == {"approximate"}


def test_rows_tested_again_and_again_are_no_more_rows(found):
    """Five repeats: the intervals are about as wide as those of one, not √5 times as narrow."""
    table = pd.DataFrame({"height": found.data.rows.X[:, 0], "tree": found.data.y})
    once = compare(table, "tree", folds=4, models=["lda"], workers=0)
    often = compare(table, "tree", folds=4, repeats=5, models=["lda"], workers=0)
    assert len(often.tested) == 5 * 160
    one, five = (details(c, "lda") for c in (once, often))
    assert [c.n for c in five.per_class] == [c.n for c in one.per_class] == np.bincount(once.truth).tolist()
    for name, b in every_score(five):
        assert b.kind == "approximate"
        assert b.n <= 160, name
        assert 0 <= b.low <= b.value <= b.high <= 1, name
    for a, b in zip(one.per_class, five.per_class):
        assert b.recall.high - b.recall.low == pytest.approx(a.recall.high - a.recall.low, rel=0.25)
        assert b.f1.high - b.f1.low == pytest.approx(a.f1.high - a.f1.low, rel=0.25)
    assert five.roc.area.high - five.roc.area.low > 0.8 * (one.roc.area.high - one.roc.area.low)


def test_one_fit_on_rows_held_out_keeps_its_exact_intervals(found):
    table = pd.DataFrame({"height": found.data.rows.X[:, 0], "tree": found.data.y})
    d = details(compare(table, "tree", resampling="holdout", models=["lda"], workers=0), "lda")
    exact = {name for name, s in every_score(d) if s.kind == "exact"}
    assert exact == {"precision", "recall", "F1", "bin", "group"}


def test_models_without_probabilities_of_their_own_have_calibration_and_thresholds_too(found):
    d = details(found, "linear-svc")
    assert d.roc is not None
    assert d.reliability is not None
    assert d.thresholds is not None


def test_a_constant_model_has_no_curves_and_no_column_matters_to_it(found):
    d = details(found, "baseline")
    assert d.roc is None
    assert all(i.increase.value == 0 for i in d.importance)
    assert d.groups == {}


def test_columns_are_shuffled_as_they_stand_in_the_table(found):
    d = details(found, "lda")
    assert {i.name for i in d.importance} == {"height", "noise", "soil", "when", "wet"}
    assert d.importance[0].name == "height"
    assert d.importance[0].increase.low > 0.1


def test_intervals_of_parts_are_as_wide_as_answers_of_several_fits_allow(found):
    """A row asked of fits that share rows is worth less than one of a single test: of classes, bins and groups as of the whole."""
    d, share = details(found, "lda"), effective_rows(160, 120) / 160
    for c in d.per_class:
        assert (c.recall.low, c.recall.high) == pytest.approx(
            clopper_pearson(c.recall.value * c.n * share, c.n * share)
        )
    sizes = [np.sum((b.least <= d.scores) & (d.scores <= b.greatest)) for b in d.reliability.bins]
    for b, n in zip(d.reliability.bins, sizes):
        assert b.observed.high == pytest.approx(clopper_pearson(b.observed.value * n * share, n * share).high)
    for g in (g.risk for groups in d.groups.values() for g in groups):
        assert g.low == pytest.approx(clopper_pearson(g.value * g.n * share, g.n * share).low)


def test_columns_are_shuffled_in_rows_that_the_fit_never_saw():
    """A tree grown to its end knows every row by its number; on rows it never saw the number is worth nothing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"number": rng.permutation(200) + 0.5, "height": rng.normal(1.5 * y, 1.0), "tree": y})
    given = {"max_depth": None, "min_samples_leaf": 1, "ccp_alpha": 0.0}
    found = compare(frame, "tree", folds=4, models=["decision-tree"], params={"decision-tree": given}, workers=0)
    d = details(found, "decision-tree")
    model, rows = d.unseen
    assert d.fitted_on_tested_rows
    assert model.encoding_.statistics.n + len(rows) == 200
    assert len(rows) == 50  # one of four folds
    worth = {i.name: i.increase for i in d.importance}
    assert all(i.increase.n == 50 for i in d.importance)
    assert worth["height"].low > 0
    assert worth["number"].low <= 0
    learnt = compare(frame, "tree", resampling="holdout", models=["lda"], workers=0)
    assert details(learnt, "lda").unseen[0] is learnt["lda"].model


def test_groups_of_a_column_hold_every_tested_row_of_the_sample_once(found):
    d = details(found, "lda")
    for groups in d.groups.values():
        assert sum(g.risk.n for g in groups) == len(found.tested)


def test_the_worst_rows_are_wrong_answers_in_order_of_the_probability_of_the_truth(found):
    worst = details(found, "lda").worst
    assert worst
    assert all(w.truth != w.answer and w.loss == 1 for w in worst)
    assert [w.probability for w in worst] == sorted(w.probability for w in worst)
    first = worst[0]
    assert found.data.y[first.row] == first.truth
    assert list(first.values) == ["height", "noise", "soil", "when", "wet"]
    assert first.values["soil"] in ("clay", "sand", "missing")
    assert first.values["wet"] in ("true", "false")
    assert first.values["when"] == str(pd.Timestamp("2021-03-01") + pd.Timedelta(days=first.row))[:10]


def test_refits_are_made_only_where_asked_for_and_add_up(found):
    assert details(found, "lda").refits is None
    refits = details(found, "lda", dear=True).refits
    pieces = refits.parts.pieces
    net = pieces["bias"].value + pieces["unbiased variance"].value - pieces["biased variance"].value
    assert net == pytest.approx(refits.parts.mean_loss.value)
    assert refits.curve.points[-1].n == refits.train_rows


def test_refits_that_stop_early_do_not_warn_one_by_one():
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 2, 60)
    frame = pd.DataFrame({"height": rng.normal(kind, 2.0), "tree": np.where(kind == 1, "oak", "elm")})
    found = compare(frame, "tree", folds=2, models=["mlp"], params={"mlp": {"max_iter": 2}})
    assert found["mlp"].notes  # each fit has something to say
    with warnings.catch_warnings(action="error"):
        assert details(found, "mlp", dear=True).refits is not None


def test_rows_that_test_refits_are_none_of_those_they_learn_from(found):
    train, test = refit_sides(found)
    assert not set(train) & set(test)
    assert len(test) >= 0.25 * len(found.data)


def test_raw_rows_are_the_rows_asked_for_each_once_in_order(found):
    rows = RawRows.of(found.data, np.array([9, 2, 9, 5]))
    assert rows.numbers.tolist() == [2, 5, 9]
    assert rows.y.tolist() == found.data.y[[2, 5, 9]].tolist()


def test_a_model_that_was_not_finished_has_no_details(found):
    found.entries.append(Entry("qda", "timeout", "Too slow."))
    try:
        with pytest.raises(DataError, match=r"timeout.*Too slow\."):
            details(found, "qda")
    finally:
        found.entries.pop()


def test_correlation_is_that_of_numpy_and_of_the_analysis_of_variance():
    from sklearn.feature_selection import f_classif

    rng = np.random.default_rng(1)
    X, k = rng.normal(size=(50, 3)), np.arange(50) % 3
    F = f_classif(X, k)[0]
    assert correlation(X, k, True) == pytest.approx(2 * F / (2 * F + 47))
    y = X[:, 0] + rng.normal(size=50)
    expected = [np.corrcoef(x, y)[0, 1] ** 2 for x in X.T]
    assert correlation(X, y, False) == pytest.approx(expected)
