"""Amounts on the command line: times such as 90, 90s, 5m or 1h, and sizes such as 500M or 2G."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click


class Amount(click.ParamType):  # type: ignore[type-arg]
    """A number > 0 with a unit."""

    def __init__(self, name: str, units: Mapping[str, float], example: str) -> None:
        self.name, self._units, self._example = name, units, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount in seconds or bytes."""
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)\s*", value)
        unit = self._units.get(match[2].lower()) if match else None
        if match is None or unit is None or float(match[1]) <= 0:
            self.fail(f"{value!r} is not a {self.name}: write it like {self._example}.", param, ctx)
        return float(match[1]) * unit


class Bytes(Amount):
    """A whole number of bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return int(super().convert(value, param, ctx))


SECONDS = Amount("time", {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}, "90, 90s, 5m or 1h")
MEMORY = Bytes(
    "size",
    {"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "gib": 2.0**30, "mib": 2.0**20},
    "500M or 2G",
)
