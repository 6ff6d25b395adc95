"""Methods that a model has for some of its hyper-parameters only: `hasattr` says which."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any


class AvailableIf:
    """A method that exists where `condition(model)` holds; elsewhere the AttributeError says `why` not."""

    def __init__(
        self, method: Callable[..., Any], condition: Callable[[Any], bool], why: str | Callable[[Any], str]
    ) -> None:
        self.method, self.condition, self.why = method, condition, why
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.method
        if not self.condition(model):
            why = self.why if isinstance(self.why, str) else self.why(model)
            raise AttributeError(f"{model!r} has no {self.method.__name__}: {why}.")
        return MethodType(self.method, model)
