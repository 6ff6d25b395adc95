"""Lines without end, and quotes without number: cut where they may be, in time that grows with the text and not with its square."""

from __future__ import annotations

import io
import random

import pytest

from assay.tables.sources import text
from assay.tables.sources.text import Unclosed, chunks, last_line_end


class CountingStream(io.BytesIO):
    """Counts how often it is read."""

    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        return super().read(size)


@pytest.mark.parametrize(
    "line", [b"a" * 3_000_000, b'"",' * 1_000_000, b'"' * 3_000_000], ids=["text", "empty", "quotes"]
)
def test_what_is_held_is_not_looked_through_again_and_again(line: bytes) -> None:
    stream = CountingStream(b"a,b\n" + line + b"\nc,d\n")
    found = b"".join(chunk.text for chunk in chunks(stream, ",", 1 << 12, "it"))
    assert found == stream.getvalue()
    assert stream.reads < 40


@pytest.mark.parametrize("seed", range(5))
def test_a_line_end_behind_many_quotes_is_that_behind_few(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    def found(lookups: int, data: bytes) -> object:
        monkeypatch.setattr(text, "LOOKED_AT", lookups)
        try:
            return last_line_end(data, ",")
        except Unclosed as error:
            return error.at

    rng = random.Random(seed)
    for _ in range(500):
        data = bytes(rng.choices(b'",ab\n\r', k=rng.randint(0, 40)))
        assert found(0, data) == found(1, data) == found(1000, data)
