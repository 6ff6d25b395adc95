"""A solver that cannot work is refused by name, with those that can; the one that is chosen always can."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from solvers.problems import make_problem, two_classes

from assay.errors import ParameterError
from assay.risk.terms import SURROGATES, Penalty
from assay.solvers import needs
from assay.solvers.needs import NEEDS, SolverArgs, check, choose, solve, solver
from assay.solvers.problem import Iterate, last

PENALTIES = {
    "none": Penalty.of(3),
    "l2": Penalty.of(3, l2=1.0),
    "l1": Penalty.of(3, l1=1.0),
    "both": Penalty.of(3, 1.0, 1.0),
}


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("loss", [*SURROGATES, "softmax", None])
@pytest.mark.parametrize(("d", "sparse"), [(10, False), (10, True), (5000, False), (5000, True)])
def test_the_chosen_solver_is_able(loss, penalty, d, sparse):
    check(choose(loss, penalty, d, sparse, 5), loss, penalty, d, sparse)


@pytest.mark.parametrize(
    ("solver", "loss", "penalty", "words"),
    [
        ("newton", "log", "l1", "'newton' needs a quadratic penalty.*proximal-newton"),
        ("newton", "hinge", "l2", "loss='hinge' does not have.*smoothing"),
        ("lbfgs", "perceptron", "none", "a continuous slope.*subgradient"),
        ("dual-coordinate", "hinge", "none", "an L2 penalty on every weight"),
        ("dual-coordinate", "log", "l2", "needs a conjugate"),
        ("hard-margin", "hinge", "l2", "C=inf"),
        ("smoothing", "log", "l2", "which it smooths"),
        ("newtn", "log", "l2", "Did you mean 'newton'"),
    ],
)
def test_a_mismatch_is_named_with_what_to_take_instead(solver, loss, penalty, words):
    with pytest.raises(ParameterError, match=words):
        check(solver, loss, PENALTIES[penalty])


def test_sparse_rows_of_many_columns_refuse_solvers_with_a_hessian():
    with pytest.raises(ParameterError, match=r"products of all 5000 columns.*lbfgs"):
        check("newton", "log", PENALTIES["l2"], 5000, sparse=True)
    check("newton", "log", PENALTIES["l2"], 5000, sparse=False)


def test_every_loss_has_a_solver_for_every_penalty():
    for loss in (*SURROGATES, "softmax"):
        for penalty in PENALTIES.values():
            assert any(_able(solver, loss, penalty) for solver in NEEDS)


def _able(solver, loss, penalty):
    try:
        check(solver, loss, penalty)
    except ParameterError:
        return False
    return True


@pytest.mark.parametrize("name", [name for name, known in NEEDS.items() if known.solve is not None])
def test_every_solver_is_found_by_name_and_called_alike(name):
    X, t = two_classes(200, 3)
    known = NEEDS[name]
    loss = next(loss for loss in known.losses if loss in SURROGATES)
    problem = make_problem(X, t, loss, l2=1.0)
    check(name, problem.loss, problem.penalty, 3)
    first, *_, end = solve(name, SolverArgs(problem, loss, np.zeros(4), 0.05, 1000))
    assert end.gap <= 0.05
    assert end.objective < first.objective


def test_a_new_solver_is_one_entry(monkeypatch):
    monkeypatch.setattr(needs, "NEEDS", dict(NEEDS))

    @solver("nothing", ("log",), "ridge", "no effort")
    def stay(args):
        yield Iterate(0, args.start, 1.0, 1.0)

    assert last(solve("nothing", SolverArgs(None, "log", np.zeros(2), 1e-3, 1))).gap == 1.0
    check("nothing", "log", PENALTIES["l2"])
    with pytest.raises(ParameterError, match=r"solver='nothing' needs no effort, which loss='hinge' does not have\."):
        check("nothing", "hinge", PENALTIES["l2"])
    with pytest.raises(ParameterError, match=r"one of: .*newton.*nothing"):
        check("smoothing", "log", PENALTIES["l2"])


def test_a_solver_is_loaded_when_it_is_called():
    code = "import sys, assay.solvers.needs; print([n for n in ('lbfgs', 'smoothing') if f'assay.solvers.{n}' in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
