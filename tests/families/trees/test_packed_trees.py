"""Packed trees bring rows where the trees as they are bring them; values get the codes that a plain search finds."""

import os
import subprocess
import sys

import numpy as np
import pytest

from assay import DecisionTreeClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from assay.families.trees import predict as packing
from assay.families.trees.loops.coding import code_block
from assay.families.trees.loops.packed import BLOCK
from assay.families.trees.nodes import TreeNodes, join_trees, words_of
from assay.families.trees.predict import TreePredictor, packed_trees

RNG = np.random.default_rng(5)


def grown(rows, d, depth, cuts, rng):
    """A tree of random splits, in preorder."""
    feature, cut, missing, leaf = [], [], [], []

    def grow(level):
        if level == depth or (level and rng.random() < 0.2):
            feature.append(-1)
            leaf.append(rng.integers(rows))
            return
        feature.append(rng.integers(d))
        cut.append(rng.choice(cuts))
        missing.append(rng.integers(2))
        grow(level + 1)
        grow(level + 1)

    grow(0)
    return TreeNodes(
        np.array(feature, dtype=np.int32),
        np.array(cut, dtype=np.float64),
        np.array(missing, dtype=np.uint8),
        np.array(leaf, dtype=np.uint32),
        np.zeros((0, 4), dtype=np.uint64),
        TABLE,
    )


TABLE = RNG.normal(size=(50, 3))
TIES = np.concatenate([np.arange(-20, 20) / 4, [-0.0, 0.0, np.inf, -np.inf, 5e-324, 1e300, np.nextafter(1, 2)]])


def odd_rows(m, d, rng, gaps, kind=np.float64):
    X = np.where(rng.random((m, d)) < 0.5, rng.choice(TIES, (m, d)), 3 * rng.normal(size=(m, d)))
    X[rng.random((m, d)) < gaps] = np.nan
    with np.errstate(over="ignore"):
        return X.astype(kind)


def assert_walks_alike(trees, X):
    predictor = TreePredictor(trees, X.shape[1], None)
    assert packed_trees(trees, X.shape[1]) is not None
    plain = predictor._sum(X, trees.table)
    predictor._asked = 1 << 40
    assert np.array_equal(predictor.total(X, trees.table), plain)
    predictor.numbered._asked = 1 << 40
    numbers = predictor._numbers(X)
    assert np.array_equal(predictor.numbers(X), numbers)


@pytest.mark.parametrize("gaps", [0.0, 0.02, 0.6])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("d", "cuts"), [(3, TIES), (300, TIES), (4, RNG.normal(size=4000))])
def test_packed_trees_bring_rows_where_the_trees_do(d, cuts, kind, gaps):
    rng = np.random.default_rng(d)
    trees = join_trees([grown(50, d, depth, cuts, rng) for depth in (1, 2, 9, 0, 12, *([3] * 80))])
    for m in (64, 97, 700, BLOCK + 65):
        assert_walks_alike(trees, odd_rows(m, d, rng, gaps, kind))


def test_a_tree_of_a_single_leaf_and_columns_without_a_question_are_walked():
    rng = np.random.default_rng(0)
    trees = join_trees([grown(50, 1, 0, TIES, rng), grown(50, 1, 4, TIES, rng)])
    X = odd_rows(200, 9, rng, 0.3)
    X[:, 0] = rng.choice(TIES, 200)
    assert_walks_alike(trees._replace(feature=np.where(trees.feature == 0, 7, trees.feature).astype(np.int32)), X)


def test_trees_that_do_not_fit_one_word_take_two_and_say_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    trees = join_trees([grown(50, 6, 10, TIES, rng) for _ in range(9)])
    assert packed_trees(trees, 6).words.ndim == 1
    for name, value in (("NARROW_COLUMNS", 5), ("NARROW_CUTS", 20), ("NARROW_NODES", 40)):
        with monkeypatch.context() as patch:
            patch.setattr(packing, name, value)
            assert packed_trees(trees, 6).words.ndim == 2
            assert_walks_alike(trees, odd_rows(500, 6, rng, 0.01))
    monkeypatch.setattr(packing, "WIDE_CUTS", 20)
    assert packed_trees(trees, 6) is None


def test_the_most_thresholds_that_fit_are_told_apart():
    for count in (253, 254, 255, 256, 65_534, 65_535):
        cuts = np.arange(count, dtype=np.float64)
        chain = TreeNodes(
            np.array([0] * count + [-1] * (count + 1), dtype=np.int32),
            cuts[::-1].copy(),
            np.zeros(count, dtype=np.uint8),
            np.arange(count + 1, dtype=np.uint32),
            np.zeros((0, 4), dtype=np.uint64),
            np.arange(count + 1, dtype=np.float64)[:, None],
        )
        trees = join_trees([chain, chain])
        found = packed_trees(trees, 1)
        assert (found is None) == (count > 65_534)
        if found is not None:
            assert found.words.ndim == (1 if count <= 254 else 2)
            predictor = TreePredictor(trees, 1, None)
            predictor._asked = 1 << 40
            X = np.concatenate([[-1.0, 0.0, 0.5, count - 1.5, count - 1, count], RNG.uniform(-1, count, 60)])[:, None]
            below = np.searchsorted(cuts, X[:, 0])
            assert np.array_equal(predictor.total(X, trees.table)[:, 0], 2.0 * below)


@pytest.mark.parametrize("bins", [255, "exact"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesRegressor])
def test_forests_answer_many_rows_as_they_answer_each_alone(kind, bins):
    X = odd_rows(1500, 5, np.random.default_rng(3), 0.03)
    X[np.isinf(X)] = 0
    y = np.floor(np.nan_to_num(X).sum(axis=1)) % 7
    settings = {} if kind is ExtraTreesRegressor else {"bins": bins}
    model = kind(n_estimators=11, random_state=1, **settings).fit(X, y)
    answer = model.predict_proba if kind is RandomForestClassifier else model.predict
    alone = np.concatenate([answer(X[i : i + 1]) for i in range(len(X))])
    leaves = np.concatenate([model.apply(X[i : i + 9]) for i in range(0, len(X), 9)])
    assert np.array_equal(answer(X), alone)
    assert model._predictor.packed is not None
    assert np.array_equal(model.apply(X), leaves)


def test_few_rows_and_few_trees_are_not_packed_for():
    X = RNG.normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(n_estimators=10).fit(X, y)
    forest.predict(X[:5])
    assert "packed" not in vars(forest._predictor)
    tree = DecisionTreeClassifier().fit(X, y)
    tree.predict(X)
    assert tree._predictor.packed is None


def test_compiled_words_are_those_of_numpy(monkeypatch):
    rng = np.random.default_rng(8)
    trees = join_trees([grown(50, 6, 8, TIES, rng) for _ in range(5)])
    ends = TreePredictor(trees, 6, None).ends
    feature = np.where(trees.feature == 3, -5, trees.feature).astype(np.int32)
    odd = trees._replace(feature=feature)
    compiled = words_of(odd, ends)
    monkeypatch.setattr("assay.families.trees.nodes.LOOPS", "not.loaded")
    assert np.array_equal(words_of(odd, ends), compiled)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("m", [1, 63, 64, 257, 1000])
def test_codes_are_the_number_of_edges_below(m, kind):
    rng = np.random.default_rng(m)
    X = odd_rows(m, 8, rng, 0.1, kind)
    X[:, 7] = rng.choice([0, 1, 2, 3, 9, np.nan, -1], m)
    counts = np.array([0, 1, 2, 46, 254, 255, 256, 0])
    edges = [np.sort(np.concatenate([TIES, rng.normal(size=300)])[rng.permutation(346)[:k]]) for k in counts]
    first = np.cumsum(counts) - counts
    levels = np.array([0] * 7 + [4])
    category, category_first = np.array([3, 0, 1, 2], dtype=np.uint8), np.zeros(8, dtype=np.int64)
    codes = np.empty((8, m), dtype=np.uint16)
    missing = np.full(8, 300)
    code_block(X, np.concatenate([*edges, [0.0]]), first, counts, missing, levels, category, category_first, codes)
    for j in range(7):
        x = X[:, j].astype(np.float64)
        expected = np.where(np.isnan(x), 300, (edges[j][None, :] < x[:, None]).sum(axis=1))
        assert np.array_equal(codes[j], expected)
    known = np.isin(X[:, 7], [0, 1, 2, 3])
    assert np.array_equal(codes[7], np.where(known, category.astype(int)[np.where(known, X[:, 7], 0).astype(int)], 300))


CODE = """
import numpy as np, assay
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4)); X[5, 1] = np.nan
y = (X[:, 0] > 0) + (X[:, 2] > 1)
model = assay.RandomForestClassifier(n_estimators=4, max_depth=5, bins=255).fit(X, y)
print(model.predict_proba(X).tobytes().hex(), model.apply(X).sum(), model._predictor.packed.words.sum())
"""


def test_packed_trees_say_the_same_without_the_compiler():
    def output(**environment: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=240, env={**os.environ, **environment}
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
