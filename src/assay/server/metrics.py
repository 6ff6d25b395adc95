"""Counts of what the service did, as Prometheus reads them."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from typing import Any

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


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
