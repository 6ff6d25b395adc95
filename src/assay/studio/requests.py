"""What the page may request, as types that validate it, and what the server hands to a worker with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from assay.errors import DataError

MOST_POINTS = 5000
MOST_CELLS = 512
FARTHEST = 1e150  # a view that ends there can still be squared

Numbers = Annotated[list[float], Meta(max_length=MOST_POINTS)]
Texts = Annotated[list[Annotated[str, Meta(max_length=80)]], Meta(max_length=MOST_POINTS)]
Name = Annotated[str, Meta(max_length=1000)]
Identity = Annotated[str, Meta(pattern="^[0-9a-f]{8,64}$")]
Side = Annotated[int, Meta(ge=4, le=MOST_CELLS)]
Ends = tuple[float, float]


class Points(Struct):
    """Points that are drawn: x, y and a label each, or x and a target each."""

    x: Numbers
    y: Numbers | None = None
    label: Texts | None = None
    target: Numbers | None = None


class Data(Struct):
    """What is learnt from: points, or columns of a table."""

    points: Points | None = None
    table: Identity | None = None
    target: Name | None = None
    columns: Annotated[list[Name], Meta(min_length=1, max_length=2)] | None = None
    projection: Literal["slice", "pca", "lda"] = "slice"
    at: dict[str, float | str] | None = None
    only: list[Name] | None = None
    scaling: Literal["auto", "on", "off"] = "auto"
    task: Literal["classes", "numbers"] | None = None


class View(Struct):
    """The part of the plane that the page shows."""

    x: Ends
    y: Ends

    def __post_init__(self) -> None:
        for low, high in (self.x, self.y):
            if not low < high or max(abs(low), abs(high)) > FARTHEST:
                raise ValueError(f"The view must go from a number to a greater one, got {low:g} to {high:g}.")


class FitRequest(Struct):
    """A model on data, to be fitted or played."""

    data: Data
    model: Name
    view: View
    params: dict[str, Any] = {}
    grid: tuple[Side, Side] = (96, 96)
    frames: Annotated[int, Meta(ge=1, le=2000)] = 200
    panel: Annotated[str, Meta(max_length=80)] = ""
    turn: Annotated[int, Meta(ge=0)] = 0  # which question of its panel this is: they may arrive in another order
    quick: bool = False


class PointsRequest(Struct):
    """Which points to show; the data may stand alone or under its name."""

    data: Data


class NameRequest(Struct):
    name: Name


class NearRequest(Struct):
    """A place on the plane that a fitted model is asked about."""

    model: Identity
    at: tuple[float, float]
    data: Data
    panel: str = ""


class SurfaceRequest(Struct):
    """The error over two weights of a model."""

    data: Data
    model: Name
    params: dict[str, Any] = {}
    grid: tuple[Side, Side] = (96, 96)


class CompareRequest(Struct):
    data: Data
    seconds: Annotated[float, Meta(gt=0, le=86400)] | None = None
    panel: str = "compare"


class ShowRequest(Struct):
    """A model file on data."""

    model: Identity
    data: Data
    view: View
    grid: tuple[Side, Side] = (96, 96)
    panel: str = ""


def read(body: bytes, kind: type[Any]) -> Any:
    """What a request's body asks."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise DataError(f"The request does not have the shape of one ({error}).") from None
    except msgspec.DecodeError as error:
        raise DataError(f"The request is not JSON ({error}).") from None
    except RecursionError:
        raise DataError("The request is nested too deeply.") from None


# --- from the server to a worker ------------------------------------------------------------------------------------------


class TableLocation(NamedTuple):
    """Where a table lies and what it is called; `shell` is what a command line would call it."""

    path: str
    name: str
    shell: str
    target: str | None = None
    bundled: bool = False
    most_rows: int = 200_000


class StudioTask(Struct):
    """What the server says before the body of a request."""

    verb: str
    folder: str
    place: TableLocation | None = None
