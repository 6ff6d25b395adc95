"""A hyper-parameter that names a class."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.labels import plain_labels
from assay.numerics import Array
from assay.params import Param


@dataclass(frozen=True, kw_only=True)
class Label(Param):
    """A label of the target, or None."""

    def accepts(self, value: Any) -> bool:
        return value is None or isinstance(value, str | bool | np.bool_ | numbers.Real)

    def describe(self) -> str:
        return "a label of y or None"

    def parse(self, text: str) -> Any:
        return None if text.lower() == "none" else text


def code_of(label: Any, classes: Array) -> int:
    """The place of a label among two classes; None: the greater. The shell has only text, so the text of a label is as good as the label."""
    if label is None:
        return len(classes) - 1
    names = plain_labels(classes)
    for same in (lambda name: name == label, lambda name: str(name) == str(label)):
        for code, name in enumerate(names):
            if same(name):
                return code
    raise ParameterError(f"pos_label={label!r} is no class of y. Classes: {names[:10]}.")
