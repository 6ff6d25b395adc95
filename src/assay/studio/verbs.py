"""What a worker can do: each verb takes the body of a request and yields what is told of it, one message after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from assay.studio.asks import Ask, CompareAsk, DatasetAsk, NearAsk, PointsAsk, ShowAsk, SurfaceAsk, read
from assay.studio.protocol import TableLocation
from assay.studio.tables import Shelf

Message = dict[str, Any]


class Verb(NamedTuple):
    """The type that the body of a request must have, and where the function is that does it."""

    asked: type[Any] | None
    where: str
    function: str

    def run(self, body: bytes, place: TableLocation | None, shelf: Shelf) -> Iterator[Message | None]:
        """Do it; modules are loaded when they are needed."""
        does: Callable[..., Iterator[Message | None]] = getattr(
            import_module(f"assay.studio.{self.where}"), self.function
        )
        return does(None if self.asked is None else read(body, self.asked), place, shelf)


VERBS = {
    "about": Verb(None, "forms", "about_everything"),
    "preset": Verb(DatasetAsk, "forms", "preset"),
    "table": Verb(None, "tables", "table"),
    "points": Verb(PointsAsk, "tables", "points"),
    "play": Verb(Ask, "playing", "watched"),
    "fit": Verb(Ask, "playing", "fit"),
    "near": Verb(NearAsk, "loaded", "near"),
    "surface": Verb(SurfaceAsk, "surface", "surface"),
    "compare": Verb(CompareAsk, "comparing", "compare"),
    "model": Verb(DatasetAsk, "loaded", "model"),
    "show": Verb(ShowAsk, "loaded", "show"),
}
