"""A solver that cannot work is refused by name, with those that can; the one that is chosen always can."""

from __future__ import annotations

import pytest

from assay.errors import ParameterError
from assay.risk.penalties import Penalty
from assay.risk.surrogates import SURROGATES
from assay.solvers.needs import NEEDS, check, choose

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
