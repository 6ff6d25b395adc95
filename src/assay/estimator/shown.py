"""Learnt parts that are kept one way, for file and claims, and shown another, as scikit-learn's users know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Model = TypeVar("Model")


class Shown:
    """A learnt part of which people see show(model, kept); `vars(model)` holds what is kept."""

    def __init__(self, show: Callable[[Any, Any], Any]) -> None:
        self.show = show

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        if self.name not in vars(model):
            raise AttributeError(f"{type(model).__name__} has no {self.name} before it is fitted: call fit first.")
        return self.show(model, vars(model)[self.name])

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)[self.name] = value

    def __delete__(self, model: Any) -> None:
        del vars(model)[self.name]


def kept(model: Any, name: str) -> Any:
    """A learnt part as it is kept; None where the fit has none."""
    return vars(model).get(name) if isinstance(getattr(type(model), name, None), Shown) else getattr(model, name, None)


class Coefficients(Shown):
    """Weights that people may look at as a sparse matrix (`sparsify`); they are kept, answered with and saved as an array."""

    def __init__(self) -> None:
        super().__init__(_as_asked)

    def __delete__(self, model: Any) -> None:
        vars(model).pop("_shown_sparse", None)  # of the next fit they are shown as they are
        super().__delete__(model)


def _as_asked(model: Any, weights: Any) -> Any:
    if not vars(model).get("_shown_sparse"):
        return weights
    from scipy.sparse import csr_array

    return csr_array(weights)


def sparsify(model: Model) -> Model:
    """Show `coef_` as a sparse matrix of scipy, where most weights are zero; what the model answers stays the same."""
    _show_sparse(model, True)
    return model


def densify(model: Model) -> Model:
    """Show `coef_` as an array again."""
    _show_sparse(model, False)
    return model


def _show_sparse(model: Any, sparse: bool) -> None:
    model._check_fitted()
    vars(model)["_shown_sparse"] = sparse
