"""Tables handed out as frames of the library that the user works with: pandas, polars, Arrow, or another that narwhals knows."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from assay.errors import MissingExtraError, ParameterError

LIBRARIES = ("pandas", "polars", "pyarrow")  # the last is always there


def library_of(data: Any) -> str | None:
    """The library of a frame; None where data is no frame of one that frames are handed out in.

    >>> library_of("trees.csv")
    """
    name = type(data).__module__.partition(".")[0]
    return name if name in LIBRARIES else None


def usual_library() -> str:
    """Of the libraries that are installed one that is in use already, else the first."""
    here = [name for name in LIBRARIES if find_spec(name) is not None]
    return next((name for name in here[:-1] if name in sys.modules), here[0])


def new_frame(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """A frame of these columns, each of one type, in which None is a missing value."""
    import narwhals.stable.v2 as nw

    chosen = library or usual_library()
    schema = {name: _type(values) for name, values in columns.items()}
    try:
        return nw.from_dict({k: list(v) for k, v in columns.items()}, schema, backend=chosen).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError:
        raise MissingExtraError(f"A table of {chosen} needs {chosen}: pip install {chosen}.") from None
    except (TypeError, ValueError):
        raise ParameterError(f"No frames can be made by {chosen!r}. Known: {', '.join(LIBRARIES)}.") from None


def _type(values: Sequence[Any]) -> Any:
    import narwhals.stable.v2 as nw

    known = {type(value) for value in values if value is not None}
    for kind, made in ((str, nw.String), (bool, nw.Boolean), (int, nw.Int64)):
        if known == {kind}:
            return made()
    return nw.Float64()
