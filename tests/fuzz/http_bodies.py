"""Hostile bodies against a service that runs: each is answered with 200, 4xx or 503, soon, and the service goes on.

    python tests/fuzz/http_bodies.py --seed 1 --minutes 10

A case draws a form (JSON, lines, CSV, Parquet, Arrow, tensors), makes a good body of it, and spoils it: cut, changed, nested, repeated, with
numbers that are none, packed once, twice, in a thousand members or wrongly, under another Content-Type or another length.
"""

from __future__ import annotations

import gzip
import http.client
import io
import json
import random
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fuzz.by_minutes import run_cases, run_minutes
from tests.server.running import Running, serving

LIMIT = 60.0  # seconds for an answer: far more than it takes
EXPECTED = {200, 400, 404, 405, 406, 408, 411, 413, 415, 422, 431, 501, 503}
TYPES = {
    "json": "application/json",
    "lines": "application/x-ndjson",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "tensors": "application/json",
}
COLUMNS = ("a", "b", "c")


# --- good bodies ----------------------------------------------------------------------------------------------------------


def good(form: str, rng: random.Random) -> bytes:
    """A body that the service answers."""
    n = rng.choice((1, 3, 50, 2000))
    values = np.random.default_rng(rng.randrange(1 << 30)).normal(size=(n, len(COLUMNS)))
    table = pa.table({name: values[:, j] for j, name in enumerate(COLUMNS)})
    if form == "json":
        rows = [dict(zip(COLUMNS, row)) for row in values.tolist()]
        return json.dumps(rng.choice((rows, values.tolist(), dict(zip(COLUMNS, values.T.tolist()))))).encode()
    if form == "lines":
        return b"".join(json.dumps(dict(zip(COLUMNS, row))).encode() + b"\n" for row in values.tolist())
    if form == "csv":
        return (",".join(COLUMNS) + "\n" + "\n".join(",".join(map(str, row)) for row in values.tolist())).encode()
    if form == "tensors":
        tensor = {"name": "x", "shape": [n, len(COLUMNS)], "datatype": "FP64", "data": values.ravel().tolist()}
        return json.dumps({"inputs": [tensor]}).encode()
    sink = io.BytesIO()
    if form == "parquet":
        parquet.write_table(table, sink, compression=rng.choice(("none", "snappy", "zstd", "gzip")))
    else:
        options = ipc.IpcWriteOptions(compression=rng.choice((None, "lz4", "zstd")))
        with ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
    return sink.getvalue()


# --- and how they are spoilt ----------------------------------------------------------------------------------------------

Spoil = Callable[[bytes, random.Random], bytes]


def cut(body: bytes, rng: random.Random) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def changed(body: bytes, rng: random.Random) -> bytes:
    spoilt = bytearray(body)
    for _ in range(rng.choice((1, 1, 3, 20))):
        if spoilt:
            spoilt[rng.randrange(len(spoilt))] = rng.choice((0, 0xFF, 0x7F, 0x80, rng.randrange(256)))
    return bytes(spoilt)


def lengths_changed(body: bytes, rng: random.Random) -> bytes:
    """Four or eight bytes that may be a length become a large one."""
    spoilt, width = bytearray(body), rng.choice((4, 8))
    at = rng.randrange(max(1, len(body) - width)) // 4 * 4
    spoilt[at : at + width] = rng.choice((2**31 - 1, 2**31, 2**30, 1, 0)).to_bytes(width, "little")
    return bytes(spoilt)


def repeated(body: bytes, rng: random.Random) -> bytes:
    return body * rng.choice((2, 100))


def numbers(body: bytes, rng: random.Random) -> bytes:
    """A number becomes something else."""
    odd = (
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 5000,
        b"0x1",
        b"--1",
        b"null",
        b'"1"',
        b"[]",
        b"{}",
        b"1e-999",
        b"\xff",
    )
    pieces = body.split(b".")
    pieces[rng.randrange(len(pieces))] = rng.choice(odd)
    return b".".join(pieces)


def nested(body: bytes, rng: random.Random) -> bytes:
    depth, opening = rng.choice((10, 2000, 200_000)), rng.choice((b"[", b'{"a":'))
    return opening * depth + body + {b"[": b"]"}.get(opening, b"}") * depth


def many_names(body: bytes, rng: random.Random) -> bytes:
    names = [f"n{k}" for k in range(rng.choice((9_000, 30_000, 100_000)))]
    if body[:1] in b"{[":
        row = dict.fromkeys((*COLUMNS, *names) if rng.random() < 0.5 else names, 1)
        return json.dumps(rng.choice(([row], {name: [1] for name in row}))).encode()
    return ",".join(names).encode() + b"\n" + b",".join([b"1"] * len(names))


def noise(_: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 100, 10_000)))


def same(body: bytes, _: random.Random) -> bytes:
    return body


SPOILS: tuple[Spoil, ...] = (
    cut, changed, changed, lengths_changed, lengths_changed, repeated, numbers, nested, many_names, noise, same
)  # fmt: skip


# --- packing --------------------------------------------------------------------------------------------------------------


def bomb(_: bytes, rng: random.Random) -> bytes:
    return gzip.compress(rng.choice((b" ", b"[", b"1,", b"\0")) * rng.choice((1_000_000, 30_000_000)), 6)


def members(body: bytes, rng: random.Random) -> bytes:
    some = body[:2000]
    many = rng.choice((2, max(1, len(some)), 30_000))
    if many == 30_000:
        return gzip.compress(b"") * many
    size = -(-len(some) // many) or 1
    return b"".join(gzip.compress(some[at : at + size]) for at in range(0, len(some), size))


def twice(body: bytes, _: random.Random) -> bytes:
    return gzip.compress(gzip.compress(body))


def once(body: bytes, _: random.Random) -> bytes:
    return gzip.compress(body)


PACKINGS: tuple[Spoil, ...] = (once, once, members, bomb, twice, lambda b, r: cut(gzip.compress(b), r),
                               lambda b, r: changed(gzip.compress(b), r), same)  # fmt: skip


# --- asking ---------------------------------------------------------------------------------------------------------------


@dataclass
class HostileCaller:
    """Sends hostile bodies to one service."""

    running: Running
    counts: Counter[str] = field(default_factory=Counter)

    def is_over(self) -> bool:
        """Whether the service has ended."""
        return self.running.process.poll() is not None

    def case(self, rng: random.Random) -> list[str]:
        """Send one body; what is wrong about the answer."""
        form = rng.choice(list(TYPES))
        spoil = rng.choice(SPOILS)
        body, headers = spoil(good(form, rng), rng), {"content-type": TYPES[form]}
        packing: Spoil | None = rng.choice(PACKINGS) if rng.random() < 0.4 else None
        if packing is not None:
            body, headers["content-encoding"] = packing(body, rng), "gzip"
        if rng.random() < 0.1:
            headers["content-type"] = rng.choice(
                (*TYPES.values(), "text/html", "", "application/vnd.apache.arrow.file")
            )
        if form == "tensors" and rng.random() < 0.3:
            headers["inference-header-content-length"] = rng.choice(("0", "-1", "9" * 30, str(len(body) // 2), "x"))
        path = "/v2/models/m/infer" if form == "tensors" else "/predict"
        length = rng.choice((0, len(body) // 2, len(body) + 100)) if rng.random() < 0.05 else None
        told = f"{form}, {spoil.__name__}, {getattr(packing, '__name__', 'plain')}, {len(body)} bytes, {headers}, length {length}"
        return [f"{told}: {what}" for what in (*self.asked(path, body, headers, length), *self.alive())]

    def asked(self, path: str, body: bytes, headers: dict[str, str], length: int | None) -> Iterator[str]:
        try:
            status, text = self._answer(path, body, headers, length)
        except TimeoutError:
            yield f"no answer in {LIMIT:g} s"
            return
        except (OSError, http.client.HTTPException) as error:
            if length is None:
                yield f"no answer: {error!r}"
            return
        self.counts[str(status)] += 1
        if status not in EXPECTED:
            yield f"status {status}: {text[:300]!r}"
        if b"Traceback" in text or b"unexpected " in text:
            yield f"it tells of its inside: {text[:300]!r}"

    def _answer(self, path: str, body: bytes, headers: dict[str, str], length: int | None) -> tuple[int, bytes]:
        host, port = self.running.address
        connection = http.client.HTTPConnection(host, port, timeout=LIMIT)
        try:
            connection.putrequest("POST", path)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.putheader("content-length", str(len(body) if length is None else length))
            connection.endheaders()
            try:
                connection.send(body)
                if length is not None and connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_WR)
            except OSError:  # it has answered and closed already
                pass
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def alive(self) -> Iterator[str]:
        """Whether the service still answers, and answers right."""
        if self.running.process.poll() is not None:
            yield f"the service has ended with {self.running.process.returncode}"
            return
        reply = self.running.ask("/predict", [dict.fromkeys(COLUMNS, 1.0)])
        if reply.status_code != 200:
            yield f"afterwards a good row is answered with {reply.status_code}"


@contextmanager
def caller() -> Iterator[HostileCaller]:
    """A service of a small model, with limits that bodies here can reach."""
    import assay

    with tempfile.TemporaryDirectory(prefix="assay-bodies-") as folder:
        X = np.random.default_rng(0).normal(size=(60, len(COLUMNS)))
        table: dict[str, Any] = {name: X[:, j] for j, name in enumerate(COLUMNS)}
        assay.GaussianNB().fit(pa.table(table), (X.sum(axis=1) > 0).astype(int)).save(Path(folder) / "m.assay")
        limits = ("--max-bytes", "20M", "--max-rows", "100000", "--timeout", "20")
        with serving(Path(folder) / "m.assay", *limits, "--quiet") as running:
            yield HostileCaller(running)


def run(seed: int, cases: int) -> list[str]:
    """So many bodies; what was found wrong."""
    return run_cases(caller, seed, cases)


if __name__ == "__main__":
    sys.exit(run_minutes(caller, __doc__, "bodies"))
