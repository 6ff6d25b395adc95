"""Learnt parts that are kept one way, for file and claims, and shown another, as scikit-learn's users know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
