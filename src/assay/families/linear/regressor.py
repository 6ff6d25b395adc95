"""Linear models of a number by a loss and a penalty: what elastic net, lasso and the generalised linear models share.

h(x) = w·x + b with `coef_` (d,) and a number `intercept_`, as scikit-learn has them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import attribute
from assay.estimator.regressor import Regressor
from assay.families.linear.claims import boxed_gap_claim, estimate_claim, gap_claim
from assay.families.linear.fit import LAYOUT, LinearModel, LinearTask, linear_scores
from assay.families.linear.problem import TargetMaker
from assay.numerics import Array, Floats
from assay.solvers.problem import Iterate

NUMBER_LAYOUT: Layout = {
    **{name: field for name, field in LAYOUT.items() if not name.startswith("dual_")},
    "coef_": Tensor(("d",), doc="the weight w of each column"),
    "intercept_": Fact(float, doc="the constant b; 0 with fit_intercept=False"),
    "step_": Tensor(("m", "e"), optional=True, doc="without penalty: Newton's next step (w, b), which proves how near the optimum is"),
}  # fmt: skip


class LinearRegressor(LinearModel, Regressor):
    """A number as w·x + b (or a function of it). Subclasses give `_objective`."""

    layout: ClassVar[Layout] = NUMBER_LAYOUT
    intercept_: float = attribute()  # type: ignore[assignment]  # of classes it is an array

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        return TargetMaker(None, np.ones(1))

    def _learnt(self, w: Floats) -> dict[str, Any]:
        return {"coef_": np.ascontiguousarray(w[0, :-1]), "intercept_": float(w[0, -1])}

    def _finish(self, task: LinearTask, solver: str, answers: list[Iterate], w: Floats) -> None:
        if answers[0].step is not None:
            self.step_ = np.stack([answers[0].step])
        super()._finish(task, solver, answers, w)

    def _make_claims(self) -> tuple[Claim, ...]:
        objective = self._objective(0)
        if not objective.unpenalised:
            return (gap_claim(objective, self),)
        return (
            boxed_gap_claim(objective, self, self.step_) if hasattr(self, "step_") else estimate_claim(objective, self),
        )

    def _linear(self, X: Array) -> Floats:
        """w·x + b of each row."""
        return linear_scores(X, self.coef_[None, :], np.atleast_1d(np.asarray(self.intercept_, dtype=np.float64)))[:, 0]

    def _values(self, X: Array) -> Floats:
        return self._linear(X)
