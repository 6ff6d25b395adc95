"""Values that JSON cannot hold as they are: infinities, NaN, and tables whose keys are not text.

    inf  ↔  {"$": "inf"}          {0: 1.5, 1: 2.0}  ↔  {"$": [[0, 1.5], [1, 2.0]]}

Everything else stands for itself; tuples become lists.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.errors import ModelFileError

TAG = "$"
FAR = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_plain(value: Any) -> Any:
    """The value as JSON can hold it; `ModelFileError` for what is not plain data.

    >>> to_plain({"C": float("inf"), "class_weight": {1: 2.0}})
    {'C': {'$': 'inf'}, 'class_weight': {'$': [[1, 2.0]]}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {TAG: str(float(value))}
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, Mapping):
        pairs = [[to_plain(k), to_plain(v)] for k, v in value.items()]
        if all(isinstance(k, str) and k != TAG for k, _ in pairs):
            return dict(pairs)
        return {TAG: sorted(pairs, key=lambda pair: (str(type(pair[0])), repr(pair[0])))}
    raise ModelFileError(f"A model file cannot hold {value!r}: {type(value).__name__} is not plain data.")


def from_plain(value: Any) -> Any:
    """The value that `to_plain` wrote; `ModelFileError` for a tag that it does not write."""
    if isinstance(value, list):
        return [from_plain(v) for v in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {k: from_plain(v) for k, v in value.items()}
    inside = value[TAG]
    if len(value) == 1 and isinstance(inside, str) and inside in FAR:
        return FAR[inside]
    if len(value) == 1 and isinstance(inside, list) and all(map(_is_pair, inside)):
        return {k: from_plain(v) for k, v in inside}
    raise ModelFileError(f"The model file's description holds a value that cannot be read: {str(value)[:100]}.")


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and (pair[0] is None or isinstance(pair[0], str | int | float))


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ModelFileError(f"A model file cannot hold {value!r}: it is not valid Unicode text.") from None
    return str(value)
