"""Figures of the lecture notes to play: the data, the models and two sentences that say what to look for.

A file is a group of figures. This page is their catalogue; nothing is made before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from assay.studio.presets import (
    gaussian,
    kernels,
    logistic,
    margins,
    neighbours,
    networks,
    overfitting,
    perceptron,
    regression,
    risk,
    separability,
    tables,
    trees,
)
from assay.studio.presets.figure import Figure
from assay.studio.presets.sections import SECTIONS

GROUPS: tuple[ModuleType, ...] = (
    tables,
    perceptron,
    separability,
    gaussian,
    neighbours,
    risk,
    logistic,
    margins,
    kernels,
    trees,
    networks,
    regression,
    overfitting,
)


def _preset(name: str, group: str, draw: Callable[[], Figure]) -> dict[str, Any]:
    return {"id": name, "group": group, "note": " · ".join(SECTIONS[name]), **draw().as_dict()}


PRESETS: Mapping[str, Callable[[], dict[str, Any]]] = {
    name: partial(_preset, name, module.GROUP, draw) for module in GROUPS for name, draw in module.FIGURES.items()
}

__all__ = ["PRESETS"]
