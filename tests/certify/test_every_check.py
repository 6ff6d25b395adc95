"""Every checker there is: it establishes honest claims, and refuses tampered witnesses and wrong numbers, whatever the model says."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from certify.every_check import honest_claims

from assay.certify import Certificate
from assay.certify.registry import all_checks, check, checker

#: of a check, parts of its witness that it must refuse when one number in them is another; of one that is not here, all that hold numbers
TAMPERED = {
    "adaboost_bound": ["errors", "votes"],
    "adaboost_margins": ["errors", "shares", "votes"],
    "boosting_held_out": ["confidence", "interval", "rows", "standard_error"],
    "boosting_leaves": ["baseline", "cut", "feature", "rate", "step", "table"],
    "boosting_losses": ["baseline", "cut", "feature", "loss_curve", "table"],
    "boosting_splits": ["cut", "feature", "gain", "l2"],
    "boxed_duality_gap": ["coef", "intercept", "objective", "step"],
    "constant_answer": ["answer", "tolerance"],
    "constant_class": ["shares", "tolerance"],
    "constant_number": ["mean", "tolerance"],
    "constant_probabilities": ["probabilities", "tolerance"],
    "cross_validation": ["fold_weights", "strengths"],
    "custom_loss": ["coef", "intercept", "strengths", "tolerance"],
    "deviance_gap": ["coef", "intercept", "objective", "power", "strengths", "tolerance"],
    "discriminant_boundary": ["M", "b", "priors", "w"],
    "discriminant_likelihood": ["added", "log_det", "mean", "priors", "whiten"],
    "discriminant_pooled": ["added", "errors", "pooled_share", "rank"],
    "discriminant_singular": ["added", "rank"],
    "duality_gap": ["coef", "objective", "strengths", "tolerance"],
    "forest_leaves": ["cut", "nodes", "table"],
    "hard_margin": ["coef", "dual_rows", "dual_values", "intercept"],
    "held_out_error": ["confidence", "errors", "hoeffding", "interval", "rows"],
    "held_out_loss": ["confidence", "interval", "loss", "rows", "standard_error"],
    "huber_gap": ["coef", "intercept", "objective", "scale", "strengths", "tolerance"],
    "inverse_hessian": ["coef", "covariance", "intercept"],
    "kernel_approximation": ["largest", "rows", "trace"],
    "kernel_features": ["frequencies", "landmarks", "map", "offset"],
    "kernel_nu": ["dual_coef", "nu", "upper"],
    "kernel_perceptron_bound": ["margin", "radius", "support", "vectors"],
    "kernel_perceptron_counts": ["factor", "mistakes", "support", "vectors"],
    "kernel_perceptron_errors": ["rows", "support", "vectors", "weight", "wrong"],
    "kernel_perceptron_replay": ["coef", "factor", "mistakes", "visits"],
    "kernel_perceptron_values": ["asked", "support", "values", "vectors"],
    "kernel_probabilities": ["calibration", "dual_coef", "gamma", "intercept", "support_vectors"],
    "kernel_ridge": ["alpha", "dual_coef", "vectors"],
    "kernel_ridge_left": ["alpha", "dual_coef", "vectors"],
    "kernel_svm_gap": ["dual_coef", "dual_objective", "gamma", "intercept", "objective", "upper"],
    "kernel_svm_kkt": ["dual_coef", "gamma", "intercept", "support", "upper"],
    "kernel_svm_leave_one_out": ["gamma", "intercept", "support", "upper"],
    "kernel_svm_margin": ["dual_coef", "gamma", "support_vectors"],
    "kernel_svr_gap": ["dual_coef", "dual_objective", "epsilon", "gamma", "intercept", "objective", "upper"],
    "kernel_svr_kkt": ["dual_coef", "epsilon", "gamma", "intercept", "upper"],
    "least_squares_rank": ["inverse_root", "rank"],
    "leave_one_out_bound": ["coef", "dual_rows", "dual_values", "intercept"],
    "minimum_norm": ["coef", "inverse_root"],
    "naive_bayes_bernoulli": ["alpha", "p", "tolerance"],
    "naive_bayes_categorical": ["alpha", "p", "tolerance"],
    "naive_bayes_complement": ["alpha", "theta", "tolerance"],
    "naive_bayes_gaussian": ["theta", "tolerance", "var"],
    "naive_bayes_multinomial": ["alpha", "theta", "tolerance"],
    "naive_bayes_poisson": ["alpha", "rate", "tolerance"],
    "naive_bayes_priors": ["priors", "tolerance"],
    "naive_bayes_smoothing": ["pairs", "var"],
    "neighbours_bayes": ["asked", "wrong"],
    "neighbours_choice": ["k", "loss"],
    "neighbours_exact": ["answers", "distances", "queries", "targets", "weights"],
    "neighbours_kept": ["absolute", "plain", "rows", "target"],
    "neighbours_learned": ["map", "tolerance"],
    "neighbours_whitened": ["centre", "map"],
    "network_best_epoch": ["best"],
    "network_errors": ["measured"],
    "network_gradient": ["mean", "measured", "scale", "weights"],
    "network_loss": ["mean", "measured", "scale", "weights"],
    "network_slopes": ["mean", "measured", "scale", "weights"],
    "normal_equations": ["coef", "tolerance"],
    "out_of_bag": ["confidence", "draws", "interval", "rows", "seed"],
    "perceptron_bound": ["eta", "gamma", "mistakes", "radius", "visits", "w"],
    "perceptron_errors": ["rows", "wrong"],
    "perceptron_replay": ["eta", "factor", "mistakes", "visits", "w"],
    "rectangle_answers": ["cells", "class_rows", "owner", "rows"],
    "rectangle_least_error": ["lost", "lower", "most", "upper", "won"],
    "rectangle_local": ["lost", "lower", "upper", "won"],
    "rectangle_pac": ["delta", "lower", "rows", "upper"],
    "rectangle_tightest": ["lost_rows", "lower", "upper", "won_rows"],
    "residual_variance": ["coef", "sigma2"],
    "separability_bound": ["coef", "intercept"],
    "separability_hulls": ["rows", "weights"],
    "separability_hyperplane": ["coef", "intercept"],
    "separability_margin": ["coef", "intercept", "rows"],
    "separability_weak": ["coef", "intercept"],
    "separating_weights": ["coef", "intercept"],
    "shap_adds_up": ["base", "values"],
    "small_slope": ["coef", "objective", "tolerance"],
    "stochastic_risk": ["coef", "objective", "strengths"],
    "tree_best_splits": ["cut", "feature", "least_rows", "nodes"],
    "tree_gains": ["cut", "feature", "gain", "nodes"],
    "tree_leaves": ["cut", "feature", "leaf", "table"],
    "zero_perceptron_loss": ["coef"],
}
#: what a solver with a fault would state that is wrong: the value where it is measured again, the bound that makes it a proof, or the
#: numbers of the witness that are the claim themselves
WRONG = {
    "boxed_duality_gap": "bound",
    "constant_probabilities": "probabilities",
    "custom_loss": "bound",
    "deviance_gap": "bound",
    "discriminant_boundary": "b",
    "discriminant_likelihood": "log_det",
    "discriminant_pooled": "errors",
    "discriminant_singular": "rank",
    "duality_gap": "bound",
    "hard_margin": "bound",
    "huber_gap": "bound",
    "inverse_hessian": "covariance",
    "naive_bayes_bernoulli": "p",
    "naive_bayes_categorical": "p",
    "naive_bayes_complement": "theta",
    "naive_bayes_gaussian": "var",
    "naive_bayes_multinomial": "theta",
    "naive_bayes_poisson": "rate",
    "naive_bayes_priors": "priors",
    "naive_bayes_smoothing": "var",
    "neighbours_whitened": "map",
    "normal_equations": "coef",
    "separability_hulls": "rows",
    "separability_margin": "coef",
    "separability_weak": "coef",
    "small_slope": "bound",
}
ALL = "all numbers"
CHECKS = sorted(all_checks())

pytestmark = pytest.mark.filterwarnings("ignore")


def holds(claim, rows, predict):
    """What the checker says of a claim, with no model at hand to compare it with."""
    (verdict,) = Certificate((claim,), predict=predict).verdicts(rows)
    return verdict.holds


def another(entry):
    """The same with the first number another one."""
    if isinstance(entry, np.ndarray):
        changed = entry.copy()
        changed.flat[0] = another(changed.flat[0].item())
        return changed
    return entry + 1 if isinstance(entry, int) else entry * 1.1 + 0.13


def holds_numbers(entry):
    """Whether a part of a witness is a number or an array of them; what names classes or columns is not."""
    if isinstance(entry, np.ndarray):
        return entry.size > 0 and entry.dtype.kind in "iuf"
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def wrong(claim):
    """The claim as a solver with a fault would state it."""
    part = WRONG.get(claim.witness.get("of_features", claim.check), "value")
    if part in ("value", "bound"):
        return replace(claim, **{part: getattr(claim, part) * 0.9 + (0.01 if part == "value" else 0.0)})
    return replace(claim, witness={**claim.witness, part: another(claim.witness[part])})


def test_every_check_is_tried():
    assert set(honest_claims()) == set(all_checks()) >= set(TAMPERED)


@pytest.mark.parametrize("name", CHECKS)
def test_honest_claims_are_established(name):
    for claim, rows, predict in honest_claims()[name]:
        assert holds(claim, rows, predict)


@pytest.mark.parametrize(("name", "part"), [(name, part) for name in CHECKS for part in TAMPERED.get(name, [ALL])])
def test_a_tampered_witness_is_refused(name, part):
    stated = [
        (key, honest)
        for honest in honest_claims()[name]
        for key in honest[0].witness
        if key == part or (part == ALL and holds_numbers(honest[0].witness[key]))
    ]
    assert stated
    for key, (claim, rows, predict) in stated:
        tampered = replace(claim, witness={**claim.witness, key: another(claim.witness[key])})
        assert not holds(tampered, rows, predict), (key, claim)


@pytest.mark.parametrize("name", CHECKS)
def test_a_wrong_number_is_refused(name):
    for claim, rows, predict in honest_claims()[name]:
        assert not holds(wrong(claim), rows, predict), claim


def checker_modules():
    """The modules of all checkers, and those of theirs that they import, with what each imports."""
    left, seen = {function.__module__ for function in all_checks().values()}, {}
    while left:
        name = left.pop()
        seen[name] = imports_of(name)
        left |= {other for other in seen[name] if other.startswith("assay")} - set(seen)
    return seen


def imports_of(name):
    spec = importlib.util.find_spec(name)
    assert spec is not None, name
    assert spec.origin is not None, name
    found = set()
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_checkers_import_nothing_but_numpy_and_each_other():
    plain = {f"assay.certify.{name}" for name in ("claim", "compare", "draws", "once", "registry", "rows")}
    checkers = {function.__module__ for function in all_checks().values()}
    for name, imports in checker_modules().items():
        for other in imports:
            top = other.split(".")[0]
            if top == "assay":
                assert other in plain | checkers or "check" in other.split("."), f"{name} imports {other}"
            else:
                assert top == "numpy" or top in sys.stdlib_module_names, f"{name} imports {other}"


def test_two_checkers_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two checkers"):
        check("duality_gap")(checker("duality_gap"))
    assert checker("no such check") is None


def test_a_loaded_model_finds_its_checkers(tmp_path):
    import assay

    _, rows, _ = honest_claims()["tree_leaves"][0]
    assay.DecisionTreeClassifier().fit(rows.X, rows.y).save(tmp_path / "m.assay")
    np.savez(tmp_path / "rows.npz", X=rows.X, y=rows.y)
    code = (
        "import sys, numpy, assay\n"
        "rows = numpy.load(sys.argv[2])\n"
        "verdicts = assay.load(sys.argv[1]).certificate_.verify(rows['X'], rows['y'])\n"
        "assert len(verdicts) and verdicts.holds, str(verdicts)"
    )
    args = [sys.executable, "-c", code, str(tmp_path / "m.assay"), str(tmp_path / "rows.npz")]
    run = subprocess.run(args, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
