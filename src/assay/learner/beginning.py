"""What every `steps` begins with: a model that knows the columns, and the rows in memory."""

from __future__ import annotations

from typing import Any, TypeVar

from assay.engines import Rows
from assay.inputs import as_rows
from assay.learner.learner import Learner
from assay.params import check_params

Model = TypeVar("Model", bound=Learner)


def fresh_and_rows(model: Model, X: Any, y: Any, sample_weight: Any) -> tuple[Model, Any]:
    """An unfitted model of the same hyper-parameters that knows the columns, and the rows in memory."""
    fresh = type(model)(**model.get_params())
    check_params(fresh)
    rows: Rows = as_rows(X, y, sample_weight, categories=fresh.takes_categories, sparse=fresh.takes_sparse).in_memory()
    fresh._check_target(rows)
    if rows.categories is not None and not fresh.takes_categories:
        fresh._refuse_categories(rows)
    fresh._forget()
    fresh._remember_columns(rows)
    fresh._fitted_with = fresh.get_params()
    return fresh, rows
