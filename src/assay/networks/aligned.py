"""Arrays of zeros that begin where a line of the cache does: a vector of 64 bytes then never lies on two of them (4 % of a batch of digits)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assay.numerics import Array

LINE = 64  # bytes


def aligned(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """
    >>> aligned((2, 3), np.float32).ctypes.data % 64
    0
    """
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, dtype=np.uint8)
    first = -room.ctypes.data % LINE
    found: Array = room[first : first + size].view(dtype).reshape(shape)
    return found
