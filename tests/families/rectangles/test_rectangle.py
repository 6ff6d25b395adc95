"""Axis-aligned rectangles: the papaya example by hand, tightest, of least error, by search, and unions."""

from __future__ import annotations

import pickle
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from cases import blobs, file_bytes
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay import RectangleClassifier
from assay.families.rectangles import loops
from assay.inputs import as_rows

#: (softness, colour) of eight papayas; the sixth is a tasty one far from the others, the seventh a bad one among them
PAPAYAS = np.array([[2, 3], [4, 6], [5, 4], [3, 5], [1, 1], [9, 9], [4, 5], [8, 2]], dtype=float)
TASTY = np.array([1, 1, 1, 1, 0, 1, 0, 0])


def gains(model):
    """The gain of each rectangle, in the weights of the rows."""
    return np.ldexp((model.won_ - model.lost_).astype(float), -model.shift_)


def gain_of(lower, upper, X, y, w):
    inside = ((lower <= X) & (upper >= X)).all(axis=1)
    return float((np.where(y == 1, w, -w) * inside).sum())


def brute_force(X, y, w):
    """The greatest gain of all rectangles with sides at rows of the class, and of none at all."""
    sides = [list(combinations_with_replacement(np.unique(X[y == 1, j]), 2)) for j in range(X.shape[1])]
    return max([0.0, *(gain_of(*np.array(box).T, X, y, w) for box in product(*sides))])


def test_the_papayas_by_hand():
    tight = RectangleClassifier("tightest").fit(PAPAYAS, TASTY)
    assert tight.lower_.tolist() == [[2, 3]]
    assert tight.upper_.tolist() == [[9, 9]]
    assert (tight.won_rows_.tolist(), tight.lost_rows_.tolist()) == ([5], [1])  # one papaya inside is not tasty
    assert tight.score(PAPAYAS, TASTY) == 7 / 8
    # to leave out the far one and keep the bad one gains 4 − 1, to keep both 5 − 1: no rectangle gains more than 4
    exact = RectangleClassifier("exact").fit(PAPAYAS, TASTY)
    assert gains(exact).tolist() == [4.0]
    heavy = np.where(
        np.arange(8) == 6, 3.0, 1.0
    )  # now the bad one weighs 3: rows (2,3) and (3,5), or (2,3) and (5,4): gain 2
    assert gains(RectangleClassifier("exact").fit(PAPAYAS, TASTY, heavy)).tolist() == [2.0]


def test_of_one_column_the_best_interval_is_found_with_ties_taken_together():
    X = np.array([1, 2, 2, 3, 4, 5, 5, 6], dtype=float)[:, None]
    y = np.array([1, 1, 0, 1, 0, 1, 1, 1])
    model = RectangleClassifier().fit(X, y)  # of 1 … 6: 6 positives − 2; nothing gains more
    assert model.methods_ == ["exact"]
    assert (model.lower_.item(), model.upper_.item(), gains(model).item()) == (1.0, 6.0, 4.0)
    model.fit(X, y, np.where(np.arange(8) == 4, 3.0, 1.0))  # the 4 weighs 3: 5 … 6 gains 3
    assert (model.lower_.item(), model.upper_.item(), gains(model).item()) == (5.0, 6.0, 3.0)


def test_the_papayas_of_the_notes_are_learnt_without_error_and_with_the_bound():
    X, y = assay.dataset("papayas").X, assay.dataset("papayas").y
    model = RectangleClassifier(pos_label="tasty").fit(X, y)
    assert model.methods_ == ["tightest"]
    assert model.score(X, y) == 1.0
    inside = np.asarray(X)[np.asarray(y) == "tasty"]
    assert np.array_equal(model.lower_[0], inside.min(axis=0))
    assert np.array_equal(model.upper_[0], inside.max(axis=0))
    bound = model.certificate_["PAC bound"]
    assert bound.value == pytest.approx(4 * np.log(4 / 0.05) / 400)
    assert "realisable" in bound.statement
    assert "independent" in bound.statement


@given(seed=st.integers(0, 10_000), d=st.integers(1, 4))
def test_no_side_of_the_tightest_rectangle_can_move_in(seed, d):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    X, y = rng.integers(-5, 6, (n, d)).astype(float), rng.integers(0, 2, n)
    y[:2] = 0, 1
    model = RectangleClassifier("tightest").fit(X, y)
    own = X[y == 1]
    assert ((model.lower_ <= own) & (own <= model.upper_)).all()
    assert ((own == model.lower_).any(axis=0) & (own == model.upper_).any(axis=0)).all()
    assert model.lost_rows_.item() == int((model.predict(X[y == 0]) == 1).sum())
    assert ("PAC bound" in {c.name for c in model.certificate_}) == (model.lost_rows_.item() == 0)
    assert model.certificate_.verify(X, y).holds


@given(seed=st.integers(0, 100_000), d=st.integers(1, 2), spread=st.sampled_from([2, 4, 50]), weighted=st.booleans())
def test_exact_is_as_good_as_trying_every_rectangle(seed, d, spread, weighted):
    """With ties, duplicated rows of different labels, and weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 22))
    X, y = rng.integers(0, spread, (n, d)).astype(float), rng.integers(0, 2, n)
    y[:2] = 0, 1
    w = rng.integers(1, 5, n) / 4 if weighted else np.ones(n)
    for seed_of_starts in (0, 1):
        model = RectangleClassifier("exact", random_state=seed_of_starts).fit(X, y, w if weighted else None)
        assert gains(model).sum() == brute_force(X, y, w)
        assert len(model.owner_) == (brute_force(X, y, w) > 0)
        assert model.certificate_.verify(X, y, w if weighted else None).holds


@given(seed=st.integers(0, 100_000), d=st.integers(1, 5))
def test_a_search_is_never_worse_than_the_tightest_nor_better_than_the_best(seed, d):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    X, y = rng.integers(0, 6, (n, d)).astype(float), rng.integers(0, 2, n)
    y[:2] = 0, 1
    w = rng.integers(1, 4, n).astype(float)
    found = gains(RectangleClassifier("search").fit(X, y, w)).sum()
    tight = RectangleClassifier("tightest").fit(X, y, w)
    assert found >= max(0.0, gains(tight).sum())
    if d <= 2:
        assert found <= brute_force(X, y, w)


def test_no_rectangle_is_the_answer_where_none_gains_anything():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 1, 0, 1])
    for method in ("exact", "search"):
        model = RectangleClassifier(method).fit(X, y, [2, 1, 2, 1])
        assert model.lower_.shape == (0, 1)
        assert model.predict(X).tolist() == [0, 0, 0, 0]
        assert np.isfinite(model.decision_function(X)).all()
        assert model.complexity() == 1.0
        assert model.certificate_.verify(X, y, [2, 1, 2, 1]).holds


def corners(n=400, seed=3):
    """Two boxes of the class in a plane of others."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = ((X < 0.3).all(axis=1) | (X > 0.75).all(axis=1)).astype(int)
    return X, y


def test_a_union_covers_what_one_rectangle_cannot_and_stops_when_nothing_is_gained():
    X, y = corners()
    one, two, many = (RectangleClassifier(n_rectangles=k).fit(X, y) for k in (1, 2, 9))
    assert one.score(X, y) < 1
    assert two.score(X, y) == many.score(X, y) == 1
    assert len(two.owner_) == len(many.owner_) == 2
    assert file_bytes(two) != file_bytes(many)  # but for the parameter
    assert gains(many)[0] >= gains(many)[1] > 0
    assert np.array_equal(one.lower_, two.lower_[:1])
    assert many.complexity() == 2 * 2 * 2
    assert [c.name for c in many.certificate_] == ["greatest gains", "answers"]


def test_more_classes_have_rectangles_each_and_the_deepest_wins():
    X = np.array([[0.0], [4.0], [3.0], [9.0], [20.0], [21.0]])
    y = np.array(["a", "a", "b", "b", "c", "c"])
    model = RectangleClassifier("tightest").fit(X, y)
    assert (model.lower_.ravel().tolist(), model.upper_.ravel().tolist()) == ([0, 3, 20], [4, 9, 21])
    Z = model.decision_function([[3.5], [14.0], [10.0]]) * model.unit_
    assert np.allclose(Z, [[0.5, 0.5, -16.5], [-10, -5, -6], [-6, -1, -10]])
    assert model.predict([[3.5], [14.0], [10.0]]).tolist() == ["a", "b", "b"]  # of equal depths the first class
    assert model.predict([[14.6]]).tolist() == ["c"]


def test_the_sign_of_the_depth_is_exact_and_a_side_is_inside():
    X = np.array([[0.1, 0.0], [0.7, 1.0], [0.3, 5.0], [-3.0, 0.2]])
    model = RectangleClassifier("tightest").fit(X, [1, 1, 0, 0])
    near = np.nextafter(0.7, 1)
    z = model.decision_function([[0.7, 0.5], [near, 0.5], [0.1, 0.0], [0.4, 0.5]])
    assert np.sign(z).tolist() == [1, -1, 1, 1]
    assert z[3] == pytest.approx(0.3 / 3.7)
    low = RectangleClassifier("tightest", pos_label=0).fit(X, [0, 0, 1, 1])
    assert np.array_equal(low.decision_function(X), -model.decision_function(X))
    assert low.predict(X).tolist() == [0, 0, 1, 1]


def test_probabilities_are_the_shares_among_rows_answered_alike_plus_one_each():
    model = RectangleClassifier("tightest").fit(PAPAYAS, TASTY)
    P = model.predict_proba([[4, 4], [0, 0]])
    assert np.allclose(P, [[(1 + 1) / 8, (5 + 1) / 8], [(2 + 1) / 4, (0 + 1) / 4]])


@pytest.mark.parametrize("label", [1, "1", np.int64(1), 1.0, None])
def test_the_positive_class_may_be_named_by_its_text(label):
    model = RectangleClassifier("tightest", pos_label=label).fit(PAPAYAS, TASTY)
    assert model.owner_.tolist() == [1]
    other = RectangleClassifier("tightest", pos_label="0").fit(PAPAYAS, TASTY)
    assert other.owner_.tolist() == [0]
    assert other.lower_.tolist() == [[1, 1]]


def test_weights_of_classes_weigh_rows():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2)), (rng.random(200) < 0.2).astype(int)
    weighted = RectangleClassifier("exact", class_weight={1: 4.0}).fit(X, y)
    by_rows = RectangleClassifier("exact").fit(X, y, np.where(y == 1, 4.0, 1.0))
    assert np.array_equal(weighted.lower_, by_rows.lower_)
    assert gains(weighted).tolist() == gains(by_rows).tolist()
    assert len(RectangleClassifier("exact", class_weight="balanced").fit(X, y).owner_) == 1


def test_settings_that_differ_in_number_alone_share_the_search_bit_for_bit():
    X, y = blobs(300, 3, 0)
    settings = [{"n_rectangles": k} for k in (1, 2, 4)] + [{"n_rectangles": 2, "n_init": 1}]
    for model, setting in zip(RectangleClassifier().fit_each(as_rows(X, y), settings), settings):
        assert file_bytes(model) == file_bytes(RectangleClassifier(**setting).fit(X, y))
        assert file_bytes(pickle.loads(pickle.dumps(model))) == file_bytes(model)


def test_the_tightest_rectangle_grows_row_by_row():
    steps = list(RectangleClassifier("tightest").steps(PAPAYAS, TASTY))
    assert [s.rows for s in steps] == [1, 2, 3, 6, 8]
    assert [s.values["upper_"].tolist() for s in steps][:3] == [[[2, 3]], [[4, 6]], [[5, 6]]]
    assert steps[-1].values["upper_"].tolist() == [[9, 9]]


@pytest.mark.parametrize("method", ["exact", "search"])
def test_steps_of_a_search_never_lose_and_end_at_the_fit(method):
    X, y = corners()
    y = y ^ (np.random.default_rng(1).random(len(y)) < 0.1)
    model = RectangleClassifier(method, n_rectangles=3).fit(X, y)
    steps = list(RectangleClassifier(method, n_rectangles=3).steps(X, y))
    got = [s.values["gain"] for s in steps]
    assert all(a <= b for a, b in pairwise(got))
    assert len(set(got)) > 3
    assert np.array_equal(steps[-1].values["lower_"], model.lower_)
    assert got[-1] == gains(model).sum()
    few = list(RectangleClassifier(method, n_rectangles=3).steps(X, y, every=3))
    assert [s.number for s in few][:-1] == list(range(3, len(steps), 3))[: len(few) - 1]
    assert few[-1].number == len(steps)


def test_auto_takes_the_tightest_where_that_is_right_and_searches_elsewhere():
    X = np.array([[0.0, 0, 0], [1, 1, 1], [5, 5, 5], [7, 7, 7], [6, 6, 6], [8, 8, 8]])
    model = RectangleClassifier().fit(X, [0, 0, 1, 1, 2, 2])
    assert model.methods_ == ["tightest", "search", "search"]
    assert [c.name for c in model.certificate_] == ["tightest", "local optimum", "PAC bound", "answers"]


def plain(loop):
    """A loop as Python runs it; without the compiler it is that already."""
    return getattr(loop, "py_func", loop)


def test_the_loops_say_the_same_without_the_compiler(monkeypatch):
    rng = np.random.default_rng(0)
    R, g = rng.integers(0, 9, (2, 60)).astype(np.int32), rng.integers(-3, 4, 60)
    g[R.max(axis=0) % 2 == 1] = -1  # rows of the class lie at even slots
    R = R[:, np.argsort(R[0], kind="stable")]
    ends = []
    for compiled in (True, False):
        if not compiled:
            for part in [name for name, value in vars(loops).items() if hasattr(value, "py_func")]:
                monkeypatch.setattr(loops, part, plain(getattr(loops, part)))
        climb, better = loops.climb, loops.next_better
        low, high, state = np.array([0, 0]), np.array([8, 8]), np.zeros(3, dtype=np.int64)
        climb(R, g, np.array([9, 9]), low, high, np.array([1, 0]), state, 100)
        stack, sets = np.zeros((64, 4), dtype=np.int64), np.array([0, 1, 0])
        stack[0] = 0, 8, 0, 8
        pairs = []
        while not pairs or pairs[-1][0] >= 0:
            pairs.append(tuple(map(int, better(R[0], R[1], g, stack, sets))))
        ends.append((low.tolist(), high.tolist(), state.tolist(), pairs, sets.tolist()))
    assert ends[0] == ends[1]
    assert ends[0][4][0] >= ends[0][2][0] > 0
    X, lower, upper = rng.random((20, 3)), rng.random((4, 3)) / 2, 0.5 + rng.random((4, 3)) / 2
    depths = []
    for loop in (loops.signed_depths, plain(loops.signed_depths)):
        depths.append(np.empty((20, 2)))
        loop(X, lower, upper, np.ones(3), np.array([0, 0, 1, 1]), depths[-1])
    assert np.array_equal(*depths)
