"""A fitted model as plain data: what goes into a file and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assay.numerics import Array


@dataclass
class Record:
    """Names, numbers and arrays; no code, no time, no machine, no engine."""

    model: str
    params: dict[str, Any]
    n_features: int
    arrays: dict[str, Array]
    facts: dict[str, Any] = field(default_factory=dict)
    classes: Array | None = None
    names: list[str] | None = None
    categories: list[list[str] | None] | None = None
    target: str | None = None
    claims: list[dict[str, Any]] = field(default_factory=list)
    provenance: dict[str, Any] = field(default_factory=dict)
    encoding: dict[str, Any] | None = None  # how the columns of a table become the model's; None: they are the model's
