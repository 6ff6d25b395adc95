"""What agreement of two results means."""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays(a: Any, b: Any) -> str:
    """The largest difference, relative to the largest value."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return f"max rel. diff {np.abs(a - b).max() / np.abs(b).max():.1e}"


def labels(a: Any, b: Any) -> str:
    """The share of equal labels."""
    return f"{np.mean(np.asarray(a) == np.asarray(b)):.5%} equal"


def nothing(a: Any, b: Any) -> str:
    """For contenders that do not compute the same thing."""
    return ""
