"""Naive Bayes on sparse rows: the same checks on the array and on its sparse matrix, and both must agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from cases import file_bytes
from sklearn import naive_bayes as known

import assay
from assay import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from assay.assess.measure import confusion
from assay.certify.held_out import held_out_error
from assay.engines import split_rows
from assay.engines.rows import SPARSE_BLOCK
from assay.errors import DataError, DataTypeError, ParameterError
from assay.inputs import as_rows

MIXED = {0: "gaussian", 1: "poisson", 2: "multinomial", 3: "multinomial", 4: "gaussian", 5: "bernoulli"}
MODELS = [
    lambda: MultinomialNB(),
    lambda: MultinomialNB(alpha=0),
    lambda: BernoulliNB(),
    lambda: BernoulliNB(alpha=0, binarize=1.0),
    lambda: GaussianNB(),
    lambda: GaussianNB(var_smoothing=0, class_weight="balanced"),
    lambda: NaiveBayes(),
    lambda: NaiveBayes("poisson"),
    lambda: NaiveBayes(MIXED, class_weight={0: 2.0, 1: 1.0, 2: 3.0}),
]
every_model = pytest.mark.parametrize("make", MODELS, ids=lambda make: repr(make()))
ACCESSORS = {"dense": lambda X: X, "sparse": sp.csr_matrix}
both = pytest.mark.parametrize("accessor", ACCESSORS.values(), ids=ACCESSORS)


def counts(n=300, d=9, seed=0, missing=0.0):
    """Three classes of mostly small counts; column 5 holds 0 and 1, column 6 is never zero, column 7 always."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.poisson((0.2 + np.random.default_rng(8).random((3, d)))[y]).astype(np.float64)
    X[:, 5], X[:, 6], X[:, 7] = X[:, 5] > 0, X[:, 6] + 1, 0
    X[rng.random((n, d)) < missing] = np.nan
    return X, y


def weights(n):
    w = np.random.default_rng(3).random(n)
    w[::7] = 0
    return w


def assert_same(a, b, rtol=1e-12):
    """All that two models learnt, to the last digits."""
    assert a.columns_ == b.columns_
    for name in a.layout:
        found, due = a._part(name), b._part(name)
        if isinstance(found, np.ndarray):
            np.testing.assert_allclose(found, due, rtol=rtol, err_msg=name)
    assert a.epsilon_ == pytest.approx(b.epsilon_, rel=rtol)


@every_model
@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_array_and_its_sparse_matrix_give_the_same_model(make, weighted, missing):
    X, y = counts(missing=missing)
    w = weights(len(y)) if weighted else None
    dense, sparse = make().fit(X, y, sample_weight=w), make().fit(sp.csr_matrix(X), y, sample_weight=w)
    assert_same(dense, sparse)
    answers = [m.predict_log_proba(rows) for m in (dense, sparse) for rows in (X, sp.csc_array(X))]
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0], rtol=1e-10, atol=1e-10)
    assert np.array_equal(dense.predict(X), sparse.predict(sp.coo_matrix(X)))
    assert dense.score(X, y, w) == sparse.score(sp.csr_matrix(X), y, w)


@both
@every_model
class TestOnEitherAccessor:
    def test_the_certificate_holds_and_refuses_other_rows(self, make, accessor):
        X, y = counts()
        w = weights(len(y))
        model = make().fit(accessor(X), y, sample_weight=w)
        verdicts = model.certificate_.verify(accessor(X), y, sample_weight=w)
        assert verdicts.holds, str(verdicts)
        assert not verdicts.notes
        other = X.copy()
        other[1, :3] = np.where(other[1, :3] > 1, 0, 2)
        verdicts = model.certificate_.verify(accessor(other), y, sample_weight=w)
        assert not verdicts.holds
        assert verdicts.notes

    def test_rows_of_the_other_kind_prove_the_same(self, make, accessor):
        X, y = counts(missing=0.05)
        verdicts = make().fit(accessor(X), y).certificate_.verify(sp.csc_matrix(X), y)
        assert verdicts.holds, str(verdicts)

    def test_learning_in_parts_is_learning_at_once(self, make, accessor):
        X, y = counts()
        parts = make()
        if isinstance(parts, NaiveBayes) and parts.columns == "auto":
            pytest.skip("the densities are chosen by the first rows alone")
        for a in range(0, 300, 100):
            parts.partial_fit(accessor(X[a : a + 100]), y[a : a + 100], classes=[0, 1, 2])
        assert_same(parts, make().fit(accessor(X), y), rtol=1e-11)

    def test_a_file_brings_the_model_back(self, make, accessor, tmp_path):
        X, y = counts()
        model = make().fit(accessor(X), y)
        model.save(tmp_path / "model.assay")
        again = assay.load(tmp_path / "model.assay")
        assert file_bytes(again) == file_bytes(model)
        assert np.array_equal(again.predict_proba(accessor(X)), model.predict_proba(accessor(X)))
        assert again.certificate_.verify(accessor(X), y).holds

    def test_steps_end_at_the_fit(self, make, accessor):
        X, y = counts()
        *_, last = make().steps(accessor(X), y, every=64)
        due = make().fit(accessor(X), y)
        np.testing.assert_allclose(last.values["class_prior_"], due.class_prior_)
        np.testing.assert_allclose(last.values["theta_"], due.theta_, rtol=1e-12)

    def test_a_row_of_zeros_and_a_single_row_are_answered(self, make, accessor):
        X, y = counts()
        model = make().fit(accessor(X), y)
        rows = np.zeros((2, X.shape[1]))
        np.testing.assert_allclose(
            model.predict_log_proba(accessor(rows)), make().fit(X, y).predict_log_proba(rows), rtol=1e-10
        )
        assert model.predict(accessor(X[:1])).shape == (1,)


@every_model
@pytest.mark.parametrize("n", [SPARSE_BLOCK + 1, 5 * SPARSE_BLOCK + 3])
def test_the_bits_are_the_same_on_every_engine(make, n, client):
    X, y = counts(n, missing=0.001)
    X = sp.csr_matrix(X)
    marks, answers = set(), set()
    for name, option in [("threads", 1), ("threads", 2), ("threads", 5), ("stream", 2), ("cluster", client)]:
        with assay.engine(name, option):
            model = make().fit(X, y, sample_weight=weights(n))
            marks.add(file_bytes(model))
            answers.add(model.predict_log_proba(X).tobytes())
    assert (len(marks), len(answers)) == (1, 1)


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB"])
def test_the_answers_are_scikit_learns(name):
    X, y = counts(500)
    X = sp.csr_matrix(X)
    ours, theirs = getattr(assay, name)().fit(X, y), getattr(known, name)().fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_)


def test_rows_are_split_and_judged_alike():
    X, y = counts(400)
    found = []
    for accessor in ACCESSORS.values():
        seen, held_out = split_rows(as_rows(accessor(X), y, weights(400), sparse=True), 0.25, 3)
        model = MultinomialNB().fit(seen)
        counted = confusion(model, held_out)
        model.add_claims(
            held_out_error(counted.errors, counted.n, fraction=0.25, seed=3), split={"fraction": 0.25, "seed": 3}
        )
        assert model.certificate_.verify(accessor(X), y, weights(400)).holds
        found.append((assay.empirical_risk(model, held_out), counted.counts.tolist()))
    assert found[0][1] == found[1][1]
    assert found[0][0] == pytest.approx(found[1][0])


class TestFarFromZero:
    def test_no_digits_are_lost_where_narrow_densities_lie_far_out(self):
        rng = np.random.default_rng(1)
        y = np.arange(400) % 2
        X = np.zeros((400, 6))
        X[:, :3] = 1e6 * (1 + 1e-9 * rng.standard_normal((400, 3)) + 1e-9 * y[:, None])
        X[::5, 3:] = rng.standard_normal((80, 3))
        dense = GaussianNB(var_smoothing=0).fit(X, y)
        sparse = GaussianNB(var_smoothing=0).fit(sp.csr_matrix(X), y)
        np.testing.assert_allclose(sparse.var_, dense.var_, rtol=1e-7)
        np.testing.assert_allclose(dense.predict_log_proba(sp.csr_matrix(X)), dense.predict_log_proba(X), rtol=1e-7)

    def test_light_zeros_beside_heavy_entries_keep_their_weight(self):
        X = np.array([[3.0], [3.0], [0.0], [1.0], [2.0]])
        w, y = np.array([1.0, 1.0 / 3, 1e-14, 1.0, 1.0]), np.array([0, 0, 0, 1, 1])
        dense, sparse = (GaussianNB(var_smoothing=0).fit(a(X), y, w) for a in ACCESSORS.values())
        np.testing.assert_allclose(sparse.var_, dense.var_, rtol=1e-12)
        assert sparse.certificate_.verify(sp.csr_matrix(X), y, w).holds

    def test_columns_that_never_vary_have_a_variance_of_exactly_zero(self):
        X, y = np.tile([0.1, 0.0, 1e9 / 3], (9000, 1)), np.arange(9000) % 3
        model = GaussianNB().fit(sp.csr_matrix(X), y, weights(9000))
        assert not model._state.gaussian_m2.any()
        assert np.array_equal(model.theta_[0], X[0])

    def test_squares_that_overflow_are_named_at_the_fit_and_answered_as_in_arrays(self):
        X, y = counts()
        X[4, 2] = 1e200
        with pytest.raises(DataError, match="Column 2 holds values as large as 1e"):
            GaussianNB().fit(sp.csr_matrix(X), y)
        model = GaussianNB().fit(*counts())
        for accessor in ACCESSORS.values():
            with pytest.raises(DataError, match="Column 2 holds values as large as 1e"):
                model.predict(accessor(X))


@both
class TestValuesThatCannotBe:
    @pytest.mark.parametrize(
        ("model", "value", "message"),
        [
            (MultinomialNB(), -1.0, "Negative values .*value -1 in row 4, column 2"),
            (MultinomialNB(), np.inf, "infinity .*row 4, column 2"),
            (NaiveBayes("poisson"), 0.5, "whole numbers .*value 0.5 in row 4, column 2"),
            (NaiveBayes("bernoulli"), 2.0, "other than 0 and 1 .*value 2 in row 4, column 2"),
            (BernoulliNB(), np.inf, "infinity .*row 4, column 2"),
            (GaussianNB(), -np.inf, "infinity .*row 4, column 2"),
        ],
        ids=repr,
    )
    def test_they_are_named_at_the_fit_and_at_the_answer(self, accessor, model, value, message):
        X, y = counts()
        X = np.minimum(X, 1)
        model.fit(accessor(X), y)
        X[4, 2] = value
        with pytest.raises(DataError, match=message):
            model.predict(accessor(X))
        with pytest.raises(DataError, match=message):
            model.fit(accessor(X), y)
        w = np.ones(len(y))
        w[4] = 0
        model.fit(accessor(X), y, sample_weight=w)  # what does not count does no harm

    def test_what_a_class_never_saw_excludes_it(self, accessor):
        model = BernoulliNB(alpha=0).fit(accessor(np.array([[1, 0], [1, 1], [0, 1], [0, 0.0]])), [0, 0, 1, 1])
        p = model.predict_proba(accessor(np.array([[0, 1.0], [1, 0]])))
        assert p.tolist() == [[0, 1], [1, 0]]


def test_a_threshold_below_zero_which_would_make_ones_of_the_absent_is_no_threshold():
    X, y = counts()
    with pytest.raises(ParameterError, match="binarize=-1 is not possible"):
        BernoulliNB(binarize=-1).fit(sp.csr_matrix(X), y)


def test_categories_are_refused_for_sparse_rows():
    X, y = counts()
    for model in (CategoricalNB(), NaiveBayes("categorical"), NaiveBayes({1: "categorical"})):
        with pytest.raises(DataTypeError, match=r"X\.toarray\(\)"):
            model.fit(sp.csr_matrix(X), y)
        with pytest.raises(DataTypeError, match=r"X\.toarray\(\)"):
            model.fit(X, y).predict(sp.csr_matrix(X))
    assert not NaiveBayes("categorical").fit(X, y).certificate_.verify(sp.csr_matrix(X), y).holds


def test_memory_is_in_proportion_to_the_entries():
    import tracemalloc

    n, d = 20_000, 100_000
    rng = np.random.default_rng(0)
    X = sp.csr_array((np.ones(20 * n), rng.integers(0, d, 20 * n), np.arange(0, 20 * n + 1, 20)), shape=(n, d))
    X.sum_duplicates()
    y = np.arange(n) % 2
    for model in (MultinomialNB(n_jobs=1), BernoulliNB(n_jobs=1), GaussianNB(n_jobs=1)):
        model.fit(X, y).predict(X)
        tracemalloc.start()
        model.fit(X, y).predict(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 150e6, model  # as arrays the rows would take 16 GB, one block 6.5 GB
        assert model.certificate_.verify(X, y).holds
