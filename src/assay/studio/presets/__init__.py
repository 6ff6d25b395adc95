"""Figures of the lecture notes to play: the data, the models and two sentences that say what to look for.

A file has one or more groups of figures. This page is their catalogue; nothing is made before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from assay.studio.presets import boosting, curved, gaussian, linear, neighbours, regression, risk, separating, tables
from assay.studio.presets.figure import Figure
from assay.studio.presets.sections import BEYOND, SECTIONS

MODULES = (tables, separating, gaussian, neighbours, risk, linear, curved, boosting, regression)


def _preset(name: str, group: str, draw: Callable[[], Figure]) -> dict[str, Any]:
    return {"id": name, "group": group, "note": " · ".join(SECTIONS.get(name, BEYOND)), **draw().as_dict()}


PRESETS: Mapping[str, Callable[[], dict[str, Any]]] = {
    name: partial(_preset, name, group, draw)
    for module in MODULES
    for group, figures in module.GROUPS.items()
    for name, draw in figures.items()
}

__all__ = ["PRESETS"]
