"""Laws of `steps`: every state answers, the last one as the fit does, and what is measured on the way is true."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case, answers, blobs, lines, pairs

import assay
from assay.errors import DataError
from assay.estimator.one_fold import OneFold
from assay.families import REGISTRY
from assay.families.linear.fit import LinearModel

pytestmark = pytest.mark.filterwarnings("ignore")


def apart(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that a hyperplane separates."""
    X, y = pairs(n, d, seed)
    return X + 9.0 * y[:, None], y


def facing(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes on two sides of zero."""
    X, y = pairs(n, d, seed)
    return X + 9.0 * (2 * y - 1)[:, None], y


def halves(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, each apart from the rest."""
    X, y = blobs(n, d, seed)
    return X + 40.0 * np.eye(3, d)[y], y


INF = float("inf")
MORE = [
    *(Case("perceptron", {"order": order, "max_iter": 5}) for order in ("random", "first-mistake")),
    *(Case("perceptron", {"order": order}, apart) for order in ("cyclic", "random", "first-mistake", "batch")),
    *(Case("perceptron", {"variant": v, "max_iter": 3, "class_weight": "balanced"}) for v in ("averaged", "voted")),
    Case("perceptron", {"variant": "voted", "shuffle": True, "init": [1.0, -1, 0, 0, 0, 2], "eta0": 0.5}, apart),
    Case("kernel-perceptron", {"kernel": "poly", "max_iter": 4}, apart),
    Case("kernel-perceptron", {"variant": "averaged", "max_iter": 3, "class_weight": "balanced"}, blobs),
    Case("kernel-perceptron", {"kernel": "linear", "shuffle": True, "max_iter": 4}, blobs),
    Case("logistic-regression", {"C": INF}, apart),
    Case("logistic-regression", {"C": INF}, halves),
    Case("logistic-regression", {"solver": "gd", "max_iter": 30}, pairs),
    Case("erm", {"loss": "log", "penalty": None}, apart),
    Case("erm", {"loss": "huber", "penalty": "l1"}, lines),
    Case("erm", {"loss": "hinge", "penalty": "l2"}, blobs),
    Case("linear-svc", {"C": INF}, apart),
    Case("linear-svc", {"C": INF, "solver": "pgd", "max_iter": 40}, halves),
    Case("linear-svc", {"C": INF, "fit_intercept": False}, facing),
    Case("linear-regression", {"solver": "gd", "max_iter": 50}),
    Case("ridge", {"solver": "gd", "alpha": 2.0, "fit_intercept": False}),
    Case("svc", {"C": INF, "kernel": "linear"}, apart),
    Case("svc", {"solver": "sqp", "probability": True}, pairs),
    Case("svr", {"solver": "sqp", "kernel": "linear"}),
    Case("knn", {"metric": "learned", "metric_steps": 5, "n_neighbors": "auto"}),
    Case("knn", {"metric": "mahalanobis", "n_neighbors": 3}),
    Case("knn", {"metric": "hamming"}),
    Case("decision-tree", {"criterion": "entropy", "ccp_alpha": 0.01}),
    Case("decision-tree", {"max_leaf_nodes": 6, "monotonic_cst": [1, 0, 0, -1, 0]}, pairs),
    Case("tree-regressor", {"criterion": "absolute_error", "max_depth": 4}),
    Case("random-forest", {"n_estimators": 5, "voting": "majority"}),
    Case("mlp", {"hidden_layer_sizes": [8], "max_iter": 9, "early_stopping": True, "learning_rate_init": 0.05}),
    Case("rectangle", {"method": "exact"}, lambda n, d, seed: pairs(n, 2, seed)),
]
ALL = [*CASES, *MORE]
TOLD = [str(case) + "-more" * (case in MORE) + str(i) for i, case in enumerate(ALL)]


@pytest.fixture(scope="module")
def run_of() -> Any:
    """The steps of a case and the state at each, kept for all laws."""
    kept: dict[int, Any] = {}

    def run(case: Case) -> tuple[Any, list[Any], list[Any]]:
        if id(case) not in kept:
            X, y = case.rows()
            model = case.model()
            steps, at_once = [], []
            for step in model.steps(X, y):
                steps.append(step)
                at_once.append(given(model.at(step), X))
            kept[id(case)] = model, steps, at_once
        return kept[id(case)]

    return run


def given(model: Any, X: Any) -> dict[str, np.ndarray] | None:
    """All that a state answers."""
    if model is None:
        return None
    ways = ("predict", "decision_function", "predict_proba")
    return {way: np.asarray(getattr(model, way)(X)) for way in ways if hasattr(model, way)}


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[way], b[way]) for way in a)


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_every_state_answers_the_rows_of_the_fit(case, run_of):
    X, y = case.rows()
    _, steps, answered = run_of(case)
    assert any(found is not None for found in answered)
    whole = case.model().fit(X, y)
    for step, found in zip(steps, answered):
        assert found is not None, step.number  # rows all count here, so that there is always an answer
        assert found.keys() == given(whole, X).keys()
        assert all(len(got) == len(y) for got in found.values())
        if case.classifies:
            assert np.isin(found["predict"], np.unique(y)).all()
        assert all(np.isfinite(got).all() for got in found.values() if got.dtype.kind == "f")
        if "predict_proba" in found:
            assert np.allclose(found["predict_proba"].sum(axis=1), 1.0)
            assert (found["predict_proba"] >= 0).all()


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_the_last_state_answers_as_the_fit_bit_for_bit(case, run_of):
    X, y = case.rows()
    assert equal(run_of(case)[2][-1], given(case.model().fit(X, y), X))


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_a_state_answers_later_as_it_did_at_once(case, run_of):
    """Nothing that a state holds is changed by what the algorithm does next, nor by its own answers."""
    X, _ = case.rows()
    model, steps, answered = run_of(case)
    for at in {0, len(steps) // 3, len(steps) // 2, len(steps) - 1}:
        assert equal(given(model.at(steps[at]), X), answered[at])


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_every_kth_step_is_one_of_all_steps_with_equal_values(case, run_of):
    X, y = case.rows()
    model, steps, answered = run_of(case)
    if (isinstance(model, OneFold) and case.params.get("solver") != "gd") or case.name == "features-regressor":
        return  # there `every` counts rows: another law
    by_number = {step.number: (step, found) for step, found in zip(steps, answered)}
    some = list(case.model().steps(X, y, every=3))
    assert [s.number for s in some] == sorted({n for n in by_number if n % 3 == 0} | {steps[-1].number})  # and the last
    for step in some:
        whole, found = by_number[step.number]
        assert step.measures == whole.measures
        assert step.values.keys() == whole.values.keys()
        for name, value in step.values.items():
            np.testing.assert_equal(value, whole.values[name])
        assert equal(given(model.at(step), X), found)


@pytest.mark.parametrize("case", [c for c in CASES if c.one_fold], ids=str)
def test_states_of_one_fold_after_equally_many_rows_agree(case):
    X, y = case.rows()
    model = case.model()
    fine = {step.rows: step for step in model.steps(X, y, every=10)}
    for step in model.steps(X, y, every=40):
        assert step.rows in fine
        a, b = answers(model.at(step), X), answers(model.at(fine[step.rows]), X)
        assert np.allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_measures_are_finite_and_told_in_words(case, run_of):
    _, steps, _ = run_of(case)
    assert any(step.measures for step in steps) or case.name in ("extra-trees", "extra-regressor")
    for measure in (m for step in steps for m in step.measures):
        assert np.isfinite(measure.value)
        assert measure.of is None or np.isfinite(measure.of)
        assert measure.scale in ("linear", "log")
        assert measure.better in ("down", "up", None)
        assert measure.name
        assert measure.text
        assert measure.scale == "linear" or measure.value >= 0


CLIMBING = ("mistakes", "rows", "rows looked at", "gain of the rectangles")
FALLING = ("impurity",)


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_measures_never_turn_back_where_theory_says_so(case, run_of):
    _, steps, _ = run_of(case)
    for name, sign in [*((n, 1.0) for n in CLIMBING), *((n, -1.0) for n in FALLING)]:
        values = [sign * m.value for step in steps for m in step.measures if m.name == name]
        assert all(a <= b + 1e-12 * (1 + abs(a)) for a, b in pairwise(values)), name
    for measure in (m for step in steps for m in step.measures):
        if measure.name in ("mistakes", "rows", "rows looked at") and measure.of is not None:
            assert measure.value <= measure.of


@pytest.mark.parametrize("case", [c for c in ALL if c.name in ("svc", "svr")], ids=str)
def test_the_dual_objective_of_a_problem_climbs(case, run_of):
    _, (*steps, _), _ = run_of(case)
    for a, b in pairwise(steps):
        if a.values["problem"] == b.values["problem"]:
            low, high = (next(m.value for m in s.measures if m.name == "dual objective") for s in (a, b))
            assert low <= high + 1e-6 * (1 + abs(low))


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_the_last_duality_gap_is_that_of_the_fit(case, run_of):
    X, y = case.rows()
    last = {m.name: m for m in run_of(case)[1][-1].measures}
    if "duality gap" not in last:
        return
    whole = case.model().fit(X, y)
    if whole.converged_:
        assert last["duality gap"].value <= last["duality gap"].of
    if len(whole.gap_) == 1 or case.name == "svc":
        assert last["duality gap"].value == pytest.approx(whole.gap_.max())


@pytest.mark.parametrize("case", ALL, ids=TOLD)
def test_the_number_of_steps_is_known_before_or_not_at_all(case, run_of):
    X, y = case.rows()
    model, steps, _ = run_of(case)
    whole = case.model().fit(X, y)
    for every, taken in ((None, steps), (7, list(case.model().steps(X, y, every=7)))):
        before, after = model.n_steps(len(y), every), whole.n_steps(len(y), every)
        assert before is None or len(taken) == before or (case.name.startswith("mlp") and len(taken) < before)
        assert after is None or len(taken) == after
        assert after is not None or not known_after_a_fit(case)


def known_after_a_fit(case: Case) -> bool:
    """Whether a fit can take very many steps, which are then counted."""
    many = ("perceptron", "tree", "forest", "mlp", "baseline", "nb", "regression", "ridge")
    return any(word in case.name for word in many) and not issubclass(case.cls, LinearModel)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_model_says_what_one_of_its_steps_is(name):
    cls = assay.models()[name]
    assert cls.step_word
    assert cls.step_word_of(cls().get_params()) == cls.step_word


def test_the_word_follows_the_hyper_parameters():
    assert assay.Perceptron.step_word_of({"order": "batch"}) == "pass"
    assert assay.Ridge.step_word_of({"solver": "gd"}) == "iteration"


def test_the_mistakes_of_a_perceptron_fill_their_bound():
    X, y = apart(60, 3, 0)
    model = assay.Perceptron()
    *_, last = model.steps(X, y)
    fitted = assay.Perceptron().fit(X, y)
    (measure,) = last.measures
    claim = next(c for c in fitted.certificate_.claims if c.name == "mistake bound")
    assert measure.value == fitted.mistakes_
    assert measure.value <= measure.of <= claim.bound * (1 + 1e-6)  # the greatest margin bounds best
    X, y = pairs(60, 3, 0)
    assert next(iter(model.steps(X, y))).measures[0].of is None  # nothing separates them


def test_the_bound_of_a_kernel_perceptron_is_that_of_its_feature_space():
    X, y = apart(60, 3, 0)
    plain, kernel = assay.Perceptron(), assay.KernelPerceptron(kernel="affine")
    first = [next(iter(model.steps(X, y))).measures[0].of for model in (plain, kernel)]
    assert first[0] == pytest.approx(first[1], rel=1e-6)
    angle = np.linspace(0, 40, 80)
    X, y = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 2 * (np.arange(80) % 2))[:, None], np.arange(80) % 2
    *_, last = assay.KernelPerceptron().steps(X, y)
    fitted = assay.KernelPerceptron().fit(X, y)
    assert last.measures[0].value == fitted.mistakes_ <= last.measures[0].of
    assert next(iter(kernel.steps(X, y))).measures[0].of is None  # no line parts two circles
    assert next(iter(assay.KernelPerceptron(budget=9).steps(X, y))).measures[0].of is None


@pytest.mark.parametrize("every", [2, 17, 100, 1000])
@pytest.mark.parametrize("order", ["cyclic", "random", "first-mistake"])
def test_visits_that_are_not_shown_are_made_all_the_same(order, every):
    X, y = pairs(70, 3, 0)
    model = assay.Perceptron(order=order, max_iter=6, variant="averaged")
    whole = {step.number: step for step in model.steps(X, y)}
    some = list(model.steps(X, y, every=every))
    assert [s.number for s in some] == sorted({n for n in whole if n % every == 0} | {max(whole)})
    for step in some:
        np.testing.assert_equal(dict(step.values), dict(whole[step.number].values))


def test_the_example_of_the_notes_plays_with_its_own_answers():
    X, y = np.array([[2.0, -1], [2, 1], [1, 3]]), [1, 1, 0]
    model = assay.Perceptron(init=[0, -1, 1])
    steps = list(model.steps(X, y))
    for step in steps:
        w = step.values["w"]
        assert np.array_equal(model.at(step).decision_function(X), np.column_stack([np.ones(3), X]) @ w)
    mistakes = np.cumsum([np.any(s.values["update"]) for s in steps])
    assert [s.measures[0].value for s in steps] == mistakes.tolist()
    assert mistakes[-1] == 3


def test_a_tree_of_the_first_splits_is_the_tree_of_so_many_leaves():
    X, y = blobs(200, 4, 3)
    model = assay.DecisionTreeClassifier()
    for step in model.steps(X, y):
        if step.values["leaves"] in (2, 3, 7, 12):
            cut = assay.DecisionTreeClassifier(max_leaf_nodes=step.values["leaves"]).fit(X, y)
            assert np.array_equal(model.at(step).predict_proba(X), cut.predict_proba(X))
            assert model.at(step).to_text() == cut.to_text()


def test_a_tree_of_categories_and_missing_values_answers_at_every_split():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "green", "blue", "pink"], 150), "size": rng.random(150)})
    frame.loc[::7, "size"] = np.nan
    y = (frame["colour"].isin(["red", "pink"]) ^ (frame["size"].fillna(0.9) > 0.5)).astype(int)
    for model in (assay.DecisionTreeClassifier(), assay.RandomForestClassifier(n_estimators=4)):
        steps = list(model.steps(frame, y))
        whole = type(model)(**model.get_params()).fit(frame, y)
        assert all(np.isfinite(model.at(step).predict_proba(frame)).all() for step in steps)
        assert np.array_equal(model.at(steps[-1]).predict_proba(frame), whole.predict_proba(frame))


def test_a_forest_so_far_is_the_forest_of_so_many_trees():
    X, y = blobs(120, 4, 1)
    model = assay.RandomForestClassifier(n_estimators=6, random_state=1)
    for step in model.steps(X, y):
        fewer = assay.RandomForestClassifier(n_estimators=step.number, random_state=1).fit(X, y)
        assert np.array_equal(model.at(step).predict_proba(X), fewer.predict_proba(X))


def test_rows_that_do_not_count_leave_nothing_to_answer_yet():
    X, y = blobs(60, 3, 0)
    w = (np.arange(60) >= 20).astype(float)
    for name in ("gaussian-nb", "lda", "baseline", "linear-regression", "baseline-regressor"):
        model = assay.models()[name]()
        steps = list(model.steps(X, y, w, every=10))
        assert [model.at(step) is None for step in steps] == [True, True, False, False, False, False], name
        whole = type(model)().fit(X, y, sample_weight=w)
        assert np.array_equal(answers(model.at(steps[-1]), X), answers(whole, X))


def test_weights_count_in_the_states_too():
    X, y = pairs(80, 3, 2)
    w = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    for case in CASES:
        if not case.classifies or case.data is not None:
            continue
        model = case.model()
        *_, last = model.steps(X, y, w)
        assert equal(given(model.at(last), X), given(case.model().fit(X, y, w), X)), str(case)


@pytest.mark.parametrize("case", CASES, ids=TOLD[: len(CASES)])
def test_named_columns_named_classes_and_single_precision_play_too(case):
    import pandas as pd

    X, y = case.rows(60)
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"c{j}" for j in range(X.shape[1])])
    labels = np.array(["ash", "beech", "cedar"])[y] if case.classifies else y
    model = case.model()
    for step in model.steps(frame, labels):
        assert len(model.at(step).predict(frame)) == 60
    assert equal(given(model.at(step), frame), given(case.model().fit(frame, labels), frame))
    with pytest.raises(ValueError, match="c0"):
        model.at(step).predict(frame.rename(columns={"c0": "other"}))


def test_sparse_rows_play_as_dense_ones_do():
    from scipy.sparse import csr_array

    X, y = pairs(60, 4, 2)
    X = np.where(np.abs(X) > 1, X, 0.0)
    for model in (assay.Perceptron(max_iter=2), assay.LogisticRegression(), assay.LinearSVC()):
        for dense, sparse in zip(model.steps(X, y), model.steps(csr_array(X), y)):
            a, b = (model.at(step).decision_function(X) for step in (dense, sparse))
            assert np.allclose(a, b, atol=1e-3)


@pytest.mark.parametrize("every", [0, -2, 1.5, True, "all"])
@pytest.mark.parametrize("name", REGISTRY)
def test_an_impossible_every_is_refused_in_words(name, every):
    X, y = np.abs(pairs(12, 2, 0)[0].round()), pairs(12, 2, 0)[1]
    with pytest.raises(ValueError, match="whole number of at least 1"):
        next(iter(assay.models()[name]().steps(X, y, every=every)))


def test_steps_of_others_and_other_things_are_refused():
    X, y = pairs(30, 2, 0)
    step = next(iter(assay.Perceptron().steps(X, y)))
    with pytest.raises(DataError, match="ask the model that made it"):
        assay.LogisticRegression().at(step)
    with pytest.raises(DataError, match="takes a step of this model"):
        assay.Perceptron().at(3)
    with pytest.raises(DataError, match="requires y"):
        next(iter(assay.Perceptron().steps(X)))


def test_a_state_on_the_way_has_no_certificate_and_no_file(tmp_path):
    X, y = pairs(30, 2, 0)
    for name in ("perceptron", "gaussian-nb", "knn", "decision-tree", "svc", "mlp", "logistic-regression"):
        model = assay.models()[name]()
        state = model.at(next(iter(model.steps(X, y))))
        assert state.certificate_.claims == ()
        with pytest.raises(DataError, match="save what fit"):
            state.save(tmp_path / "x.assay")


def test_a_state_that_is_fitted_again_is_a_whole_fit(tmp_path):
    X, y = pairs(30, 2, 0)
    model = assay.GaussianNB()
    state = model.at(next(iter(model.steps(X, y))))
    state.fit(X, y).save(tmp_path / "x.assay")
    assert np.array_equal(
        assay.load(tmp_path / "x.assay").predict_proba(X), assay.GaussianNB().fit(X, y).predict_proba(X)
    )
