"""What the server and its workers say to each other, apart from JSON that goes through."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class TableLocation(NamedTuple):
    """Where a table lies and what it is called; `shell` is what a command line would call it."""

    path: str
    name: str
    shell: str
    target: str | None = None
    bundled: bool = False
    most_rows: int = 200_000


class StudioTask(msgspec.Struct):
    """What the server says before the body of a request."""

    verb: str
    folder: str
    place: TableLocation | None = None
