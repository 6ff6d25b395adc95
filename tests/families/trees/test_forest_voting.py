"""Forests: which rows their trees see, how they vote, and how they are judged by the rows that trees did not see."""

from __future__ import annotations

import numpy as np
import pytest
from cases import file_bytes
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import assay
from assay import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from assay.families.trees.grow import RowSample
from assay.families.trees.nodes import join_trees, split_trees
from assay.families.trees.predict import TreePredictor

FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)


def rows(n=250, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.standard_normal(n)
    return X, np.clip(np.floor(signal) + 1, 0, classes - 1).astype(int), signal


def fitted(cls, n=250, seed=0, **params):
    X, labels, numbers = rows(n, seed=seed)
    y = numbers if "Regressor" in cls.__name__ else labels
    return cls(**{"n_estimators": 12, **params}).fit(X, y), X, y


def leaves_of(model, X):
    """Of each tree the rows of its table of leaves where the rows of X end, and that table."""
    for tree in split_trees(model._trees):
        alone = join_trees([tree])
        yield alone.table, TreePredictor(alone, X.shape[1], None).leaves(X, 0)


@pytest.mark.parametrize("cls", FORESTS)
def test_the_seed_alone_decides_what_is_drawn(cls):
    first, X, _ = fitted(cls, random_state=3)
    again, *_ = fitted(cls, random_state=3)
    other, *_ = fitted(cls, random_state=4)
    unset, *_ = fitted(cls)
    zero, *_ = fitted(cls, random_state=0)
    assert file_bytes(first) == file_bytes(again)
    assert not np.array_equal(first.cut_[:50], other.cut_[:50])
    assert np.array_equal(unset.predict(X), zero.predict(X))


def test_no_two_trees_are_alike():
    model, X, _ = fitted(RandomForestClassifier, n_estimators=20)
    walks = [leaf.tobytes() for _, leaf in leaves_of(model, X)]
    assert len(set(walks)) == 20


@pytest.mark.parametrize(
    ("asked", "replace", "m"),
    [
        (None, True, 250),
        (40, True, 40),
        (0.2, True, 50),
        (2.0, True, 500),
        (600, True, 600),
        (40, False, 40),
        (0.5, False, 125),
    ],
)
def test_each_tree_sees_m_rows(asked, replace, m):
    model, X, y = fitted(RandomForestRegressor, max_samples=asked, bootstrap=replace, n_estimators=4)
    sample = RowSample(0, m, replace)
    for tree, (table, leaf) in enumerate(leaves_of(model, X)):
        times = sample.times(tree, len(y))
        assert times.sum() == m
        assert replace or times.max() == 1
        for k in np.unique(leaf[times > 0]):
            there = (leaf == k) & (times > 0)
            assert table[k, 0] == pytest.approx(np.average(y[there], weights=times[there]), abs=1e-12)
            assert table[k, 1] == pytest.approx(times[there].sum()) or len(np.unique(table, axis=0)) < len(table)
    expected = 1 - (1 - 1 / 250) ** m if replace else m / 250
    seen = np.mean([(sample.times(t, 250) > 0).mean() for t in range(200)])
    assert seen == pytest.approx(expected, abs=0.02)


def test_draws_are_even():
    times = sum(RowSample(1, 100, True).times(t, 100).astype(int) for t in range(2000))
    assert np.abs(times - 2000).max() < 6 * np.sqrt(2000)
    without = sum(RowSample(1, 30, False).times(t, 100).astype(int) for t in range(2000))
    assert np.abs(without - 600).max() < 6 * np.sqrt(600 * 0.7)


def test_rows_of_weight_zero_are_never_drawn_and_always_judged():
    X, labels, _ = rows()
    w = (np.arange(250) % 5 > 0).astype(float)
    model = RandomForestClassifier(n_estimators=9).fit(X, labels, sample_weight=w)
    alone = RandomForestClassifier(n_estimators=9).fit(X[w > 0], labels[w > 0])
    assert np.array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert np.array_equal(model.oob_decision_function_[w > 0], alone.oob_decision_function_, equal_nan=True)
    assert np.allclose(model.oob_decision_function_[w == 0], model.predict_proba(X)[w == 0], rtol=0, atol=1e-12)
    assert model.oob_loss_ == alone.oob_loss_
    assert model.certificate_.verify(X, labels, w).holds


@pytest.mark.parametrize("voting", ["soft", "majority"])
def test_votes_are_the_mean_of_the_trees_by_hand(voting):
    model, X, _ = fitted(RandomForestClassifier, voting=voting, min_samples_leaf=7)
    total = np.zeros((len(X), 3))
    for table, leaf in leaves_of(model, X):
        share = table[leaf] / table[leaf].sum(axis=1, keepdims=True)
        total += share if voting == "soft" else np.eye(3)[share.argmax(axis=1)]
    assert np.allclose(model.predict_proba(X), total / 12, rtol=0, atol=1e-12)
    assert np.array_equal(model.predict(X), total.argmax(axis=1))


def test_the_two_ways_to_vote_differ():
    soft, X, _ = fitted(RandomForestClassifier, voting="soft", min_samples_leaf=20)
    majority, *_ = fitted(RandomForestClassifier, voting="majority", min_samples_leaf=20)
    assert not np.array_equal(soft.predict_proba(X), majority.predict_proba(X))
    assert np.allclose(12 * majority.predict_proba(X), np.round(12 * majority.predict_proba(X)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_out_of_bag_answers_are_those_of_the_trees_that_did_not_see_the_row(cls, weighted):
    X, labels, numbers = rows()
    y = numbers if cls is RandomForestRegressor else labels
    w = 0.5 + np.arange(len(y)) % 3 if weighted else None
    model = cls(n_estimators=9, random_state=5).fit(X, y, sample_weight=w)
    sample, classes = RowSample(5, len(y), True), 3 if cls is RandomForestClassifier else 1
    total, count = np.zeros((len(y), classes)), np.zeros(len(y))
    for tree, (table, leaf) in enumerate(leaves_of(model, X)):
        out_of_bag = sample.times(tree, len(y)) == 0
        said = table[leaf] / table[leaf].sum(axis=1, keepdims=True) if classes == 3 else table[leaf][:, :1]
        total[out_of_bag] += said[out_of_bag]
        count += out_of_bag
    with np.errstate(invalid="ignore"):
        mean = total / count[:, None]
    found = model.oob_decision_function_ if classes == 3 else model.oob_prediction_[:, None]
    assert (count == 0).any()
    assert np.array_equal(np.isnan(found[:, 0]), count == 0)
    assert np.allclose(found, mean, rtol=0, atol=1e-12, equal_nan=True)
    there = count > 0
    weights = np.ones(len(y)) if w is None else w
    lost = (mean[there].argmax(axis=1) != y[there]).astype(float) if classes == 3 else (mean[there, 0] - y[there]) ** 2
    assert model.oob_rows_ == there.sum()
    assert model.oob_loss_ == pytest.approx(np.average(lost, weights=weights[there]))
    if classes == 3:
        assert model.oob_score_ == pytest.approx(1 - model.oob_loss_)
    else:
        spread = np.average((y[there] - np.average(y[there], weights=weights[there])) ** 2, weights=weights[there])
        assert model.oob_score_ == pytest.approx(1 - model.oob_loss_ / spread)


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_the_out_of_bag_error_is_near_the_error_on_new_rows(cls):
    model, *_ = fitted(cls, n=1500, n_estimators=60)
    X, labels, numbers = rows(4000, seed=9)
    y = numbers if cls is RandomForestRegressor else labels
    said = model.predict(X)
    lost = (said - y) ** 2 if cls is RandomForestRegressor else (said != y).astype(float)
    new, error = lost.mean(), lost.std() / np.sqrt(len(lost))
    assert abs(model.oob_loss_ - new) < 4 * np.hypot(error, model.oob_error_of_loss_)


@pytest.mark.parametrize("cls", FORESTS)
def test_a_warm_start_is_the_same_forest_as_one_go(cls):
    once, X, y = fitted(cls, n_estimators=14, bootstrap=True)
    model = cls(n_estimators=5, bootstrap=True, warm_start=True).fit(X, y)
    few = model.predict(X)
    for size in (5, 9, 14):
        model.set_params(n_estimators=size).fit(X, y)
        assert len(model.nodes_) == size
    assert not np.array_equal(few, once.predict(X))
    for name in ("feature_", "cut_", "missing_left_", "nodes_"):
        assert np.array_equal(getattr(model, name), getattr(once, name)), name
    assert np.array_equal(model.table_[model.leaf_], once.table_[once.leaf_])
    assert np.array_equal(model.predict(X), once.predict(X))
    assert model.oob_loss_ == once.oob_loss_
    assert model.oob_score_ == once.oob_score_


@pytest.mark.parametrize("cls", FORESTS)
def test_trees_that_were_not_asked_at_first_judge_the_rows_that_they_did_not_see(cls):
    once, X, y = fitted(cls, n_estimators=9, bootstrap=True)
    model = cls(n_estimators=5, bootstrap=True, warm_start=True, oob_score=False).fit(X, y)
    model.set_params(oob_score=True).fit(X, y)  # no new trees
    assert model.oob_score_ == fitted(cls, n_estimators=5, bootstrap=True)[0].oob_score_
    model.set_params(oob_score=False, n_estimators=7).fit(X, y)
    assert not hasattr(model, "oob_score_")  # that of fewer trees
    model.set_params(oob_score=True, n_estimators=9).fit(X, y)
    for name in ("oob_score_", "oob_loss_", "oob_error_of_loss_", "oob_rows_", "oob_trees_"):
        assert getattr(model, name) == getattr(once, name), name
    assert np.array_equal(model.oob_curve_, once.oob_curve_)
    assert model.certificate_.verify(X, y).holds


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_nothing_is_said_of_rows_that_some_trees_may_have_seen(cls):
    model, X, y = fitted(cls, n_estimators=4, warm_start=True, oob_score=False)
    model.set_params(n_estimators=8, random_state=5, oob_score=True).fit(X, y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_loss_")


def test_a_loaded_forest_grows_on(tmp_path):
    model, X, y = fitted(RandomForestRegressor, n_estimators=6, warm_start=True)
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay").set_params(n_estimators=10).fit(X, y)
    whole = model.set_params(n_estimators=10).fit(X, y)
    assert np.array_equal(again.predict(X), whole.predict(X))
    assert np.array_equal(again.feature_, whole.feature_)


def test_a_warm_start_that_is_interrupted_leaves_the_forest_as_it_was(monkeypatch):
    model, X, y = fitted(RandomForestRegressor, n_estimators=6, warm_start=True)
    loss, count = model.oob_loss_, model._out_of_bag.count.copy()
    from assay.families.trees import forest_builder

    plain, calls = forest_builder.OutOfBag.add, []

    def add(self, *arguments):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(forest_builder.OutOfBag, "add", add)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(n_estimators=20).fit(X, y)
    monkeypatch.undo()
    assert model.oob_loss_ == loss
    assert np.array_equal(model._out_of_bag.count, count)
    assert model.fit(X, y).oob_loss_ == fitted(RandomForestRegressor, n_estimators=20)[0].oob_loss_


def test_a_forest_of_size_auto_stops_when_more_trees_no_longer_help():
    model, *_ = fitted(RandomForestClassifier, n_estimators="auto")
    trees = len(model.nodes_)
    assert 60 <= trees < 1000
    assert trees % 20 == 0
    curve = model.oob_curve_
    assert curve[-1, 0] == trees
    assert curve[-1, 1] == pytest.approx(model.oob_loss_)
    larger, *_ = fitted(RandomForestClassifier, n_estimators=trees)
    assert np.array_equal(larger.feature_, model.feature_)
    assert np.all(np.diff(curve[:, 0]) == 20)


@pytest.mark.parametrize("bins", ["exact", 64])
def test_thresholds_of_extra_trees_are_drawn_from_the_whole_range(bins):
    """Of a column whose values lie evenly, thresholds of first splits do too."""
    x = np.linspace(0, 1, 400)[:, None]
    y = (x[:, 0] > 0.5).astype(int)
    model = ExtraTreesClassifier(n_estimators=300, max_depth=1, bins=bins).fit(x, y)
    cuts = np.sort(model.cut_)
    assert np.abs(cuts - (np.arange(300) + 0.5) / 300).max() < 0.12  # Kolmogorov's distance
    assert len(np.unique(cuts)) > (250 if bins == "exact" else 50)
    best = RandomForestClassifier(n_estimators=50, max_depth=1, bins=bins).fit(x, y)
    assert np.abs(best.cut_ - 0.5).max() < 0.05


def test_extra_trees_of_the_absolute_error_draw_their_thresholds_too():
    x = np.linspace(0, 1, 100)[:, None]
    model = ExtraTreesRegressor(n_estimators=60, max_depth=1, criterion="absolute_error").fit(x, x[:, 0] > 0.5)
    assert model.cut_.std() > 0.2


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_limits_are_shares_of_the_rows_that_a_tree_sees(share):
    """A tree of a tenth of the rows is pruned and limited as if these were all."""
    X, _, y = rows(1000)
    n = round(share * 1000)
    for limits in ({"min_impurity_decrease": 0.02}, {"ccp_alpha": 0.02}, {"min_weight_fraction_leaf": 0.05}):
        model = RandomForestRegressor(n_estimators=6, max_samples=share, max_features=None, **limits).fit(X, y)
        leaves = []
        for tree in range(6):
            times = RowSample(0, n, True).times(tree, 1000)
            alone = assay.DecisionTreeRegressor(**limits).fit(X, y, sample_weight=times)
            leaves.append(alone.get_n_leaves())
        found = [int((t.feature == -1).sum()) for t in split_trees(model._trees)]
        assert found == leaves


@pytest.mark.parametrize("cls", FORESTS)
def test_the_peers_tools_work(cls):
    model, X, y = fitted(cls)
    assert np.array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    pipe = make_pipeline(StandardScaler(), cls(n_estimators=5)).fit(X, y)
    assert pipe.score(X, y) > 0.5
    search = GridSearchCV(cls(n_estimators=15), {"max_depth": [1, 6]}, cv=3).fit(X, y)
    assert search.best_params_["max_depth"] == 6


def test_the_parameters_of_the_peer_mean_the_same_to_every_forest():
    import sklearn.ensemble

    for cls in FORESTS:
        theirs = getattr(sklearn.ensemble, cls.__name__)().get_params()
        ours = cls().get_params()
        assert set(theirs) <= set(ours)
        assert {k: ours[k] for k in theirs if k != "oob_score"} == {k: v for k, v in theirs.items() if k != "oob_score"}
