"""What a packed body becomes, and that unpacking it takes time in proportion to its bytes and no more."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.http.replies import Refusal
from assay.server import bodies
from assay.server.bodies import IN_MEMORY, MOST_MEMBERS, PIECE, Body, unpacked

NOISE = np.random.default_rng(0).bytes(300_000)


def body(data: bytes, *cuts: int) -> Body:
    found = Body(1 << 30)
    for start, end in zip((0, *cuts), (*cuts, len(data))):
        found.add(data[start:end])
    return found


class CountingInflater:
    """zlib's own, which counts the bytes that it is given."""

    given = 0

    def __init__(self, inflater: Any) -> None:
        self._inflater = inflater

    def decompress(self, data: bytes, *most: int) -> bytes:
        CountingInflater.given += len(data)
        return self._inflater.decompress(data, *most)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inflater, name)


@pytest.mark.parametrize(
    ("data", "handed"),
    [
        (gzip.compress(b"a") * MOST_MEMBERS, 150),
        (gzip.compress(b"") * MOST_MEMBERS, 150),
        (gzip.compress(NOISE * 10, 1), 2),
        (gzip.compress(bytes(20_000_000)), 80),
        (gzip.compress(NOISE) * 30, 2),
    ],
    ids=["many members", "many empty ones", "noise", "zeros", "some long ones"],
)
def test_no_byte_is_handed_to_zlib_often(monkeypatch: pytest.MonkeyPatch, data: bytes, handed: int) -> None:
    made, wanted = zlib.decompressobj, gzip.decompress(data)
    monkeypatch.setattr(CountingInflater, "given", 0)
    monkeypatch.setattr(bodies.zlib, "decompressobj", lambda **options: CountingInflater(made(**options)))
    assert unpacked(body(data), 1 << 30).whole() == wanted
    assert CountingInflater.given <= handed * len(data)


@pytest.mark.parametrize("text", [b"", b"a", NOISE, bytes(PIECE), bytes(PIECE + 1), bytes(IN_MEMORY + 1)], ids=len)
def test_it_is_whole_wherever_the_network_cuts_it(text: bytes) -> None:
    packed = gzip.compress(text)
    twice = packed + packed
    for cuts in ((), (1,), (10, 11), (len(packed) - 1,), (len(packed),), (len(packed) + 1,)):
        assert unpacked(body(twice, *cuts), 1 << 30).whole() == text + text


def test_more_members_than_anybody_makes_are_refused() -> None:
    with pytest.raises(Refusal, match="more than 10000 members") as refused:
        unpacked(body(gzip.compress(b"") * (MOST_MEMBERS + 1)), 1 << 30)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"no gzip", "not gzip"), (gzip.compress(NOISE)[:-9], "cut short"), (gzip.compress(b"a") + b"behind", "not gzip")],
    ids=["none of it", "its end", "something behind it"],
)
def test_what_is_no_gzip_is_told_so(data: bytes, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        unpacked(body(data), 1 << 30)


def test_it_stops_growing_at_the_limit_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(Refusal, match="larger than the 20000000 bytes") as refused:
        unpacked(body(gzip.compress(bytes(200_000_000))), 20_000_000)
    assert refused.value.status == 413
    assert list(tmp_path.iterdir()) == []
