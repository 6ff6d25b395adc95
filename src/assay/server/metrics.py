"""Counts of what the service did, as Prometheus reads them."""

from __future__ import annotations

import sys
import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
EVERY = 0.1  # seconds
MOST = 50_000  # lines held
WHOLE = 4096  # bytes that a pipe takes in one piece: lines of several processes do not mix


class Metrics:
    """Requests by path, method and status; seconds; rows; refusals; models; memory. Of several `worker` processes each counts its own."""

    def __init__(self, worker: int | None = None) -> None:
        self._worker = worker
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.rows: Counter[str] = Counter()
        self.reloads: Counter[str] = Counter()
        self._seconds: dict[str, list[Any]] = {}
        self._started = time.time()

    def add(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """One request has been answered."""
        self.requests[endpoint, method, status] += 1
        found = self._seconds.get(endpoint)
        if found is None:
            found = self._seconds[endpoint] = [0.0, [0] * (len(BUCKETS) + 1)]
        found[0] += seconds
        found[1][bisect_left(BUCKETS, seconds)] += 1

    def text(self, gauges: dict[str, float]) -> bytes:
        """All of it in the text format."""
        lines = ["# HELP assay_requests_total Requests answered.", "# TYPE assay_requests_total counter"]
        for (endpoint, method, status), n in sorted(self.requests.items()):
            lines.append(f'assay_requests_total{{endpoint="{endpoint}",method="{method}",status="{status}"}} {n}')
        lines += [
            "# HELP assay_request_seconds From the first byte to the answer.",
            "# TYPE assay_request_seconds histogram",
        ]
        for endpoint, (total, counts) in sorted(self._seconds.items()):
            lines += _histogram(endpoint, total, counts)
        for name, what, counter, label in (
            ("assay_rows_total", "Rows answered.", self.rows, "model"),
            ("assay_model_loads_total", "Model files read.", self.reloads, "outcome"),
        ):
            lines += [f"# HELP {name} {what}", f"# TYPE {name} counter"]
            lines += [f'{name}{{{label}="{_quoted(key)}"}} {n}' for key, n in sorted(counter.items())]
        gauges = {
            **gauges,
            "assay_uptime_seconds": time.time() - self._started,
            "process_resident_memory_bytes": resident(),
        }
        for name, value in gauges.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}" if value != int(value) else f"{name} {int(value)}"]
        if self._worker is not None:
            lines = [_labelled(line, f'worker="{self._worker}"') for line in lines]
        return ("\n".join(lines) + "\n").encode()


def _labelled(line: str, label: str) -> str:
    """A line with one more label."""
    if line.startswith("#"):
        return line
    name, brace, rest = line.partition("{")
    return f"{name}{{{label},{rest}" if brace else line.replace(" ", f"{{{label}}} ", 1)


def _histogram(endpoint: str, total: float, counts: list[int]) -> list[str]:
    lines, n = [], 0
    for bound, count in zip((*BUCKETS, "+Inf"), counts):
        n += count
        lines.append(f'assay_request_seconds_bucket{{endpoint="{endpoint}",le="{bound}"}} {n}')
    lines.append(f'assay_request_seconds_sum{{endpoint="{endpoint}"}} {total:.6f}')
    lines.append(f'assay_request_seconds_count{{endpoint="{endpoint}"}} {n}')
    return lines


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    import os

    return pages * os.sysconf("SC_PAGE_SIZE")


class AccessLog:
    """`add` costs the caller next to nothing."""

    def __init__(self, requests: bool) -> None:
        self._requests, self._held, self._lost = requests, deque[dict[str, Any]](), 0
        self._over = threading.Event()
        self._encode = msgspec.json.Encoder().encode
        self._thread = threading.Thread(target=self._run, name="assay-log", daemon=True)
        self._thread.start()

    def add(
        self, when: float, client: str, method: str, path: str, status: int, size: int, seconds: float, rows: int
    ) -> None:
        """A request that has been answered; `when` in seconds since 1970."""
        if not self._requests:
            return
        if len(self._held) >= MOST:
            self._lost += 1
            return
        self._held.append(
            {"time": when, "client": client, "method": method, "path": path, "status": status, "bytes": size, "ms": round(seconds * 1e3, 3), "rows": rows}
        )  # fmt: skip

    def emit(self, event: str, **facts: Any) -> None:
        """Something that happened to the service itself; it is written even where requests are not."""
        self._held.append({"time": datetime.now(UTC).timestamp(), "event": event, **facts})

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            self._write()
        self._write()

    def _write(self) -> None:
        lines = []
        while self._held:
            line = self._held.popleft()
            line["time"] = datetime.fromtimestamp(line["time"], UTC).isoformat(timespec="milliseconds")
            lines.append(self._encode(line))
        if self._lost:
            lines.append(self._encode({"event": "log lines lost", "count": self._lost}))
            self._lost = 0
        try:
            for piece in _pieces(lines):
                sys.stderr.buffer.write(piece)
                sys.stderr.buffer.flush()
        except (OSError, ValueError):  # nobody listens any more
            self._requests = False

    def close(self) -> None:
        self._over.set()
        self._thread.join(timeout=1.0)


def _pieces(lines: list[bytes]) -> Iterator[bytes]:
    """Whole lines, as many at a time as a pipe takes in one piece."""
    piece = b""
    for line in lines:
        if piece and len(piece) + len(line) >= WHOLE:
            yield piece
            piece = b""
        piece += line + b"\n"
    if piece:
        yield piece
