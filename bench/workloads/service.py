"""`assay serve` against a minimal FastAPI application with the same model: requests a second, waits, large bodies, start, soak, overload.

Servers have one process each and take turns; a process of its own asks over loopback. ASSAY_BENCH_SOAK=300 soaks for five minutes
instead of 20 seconds.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import FOLDER, noisy_sign, written
from bench.harness import Race
from bench.http_load import Outcome, load, post
from bench.workloads.predict_files import FIT

COLUMNS = 20
ROWS = 10_000
ROUNDS = 5
SOAK = float(os.environ.get("ASSAY_BENCH_SOAK", "20"))
ARROW = "application/vnd.apache.arrow.stream"
PATH = "/models/linear/predict"


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    folder, pipeline = _models()
    ours = [str(Path(sys.executable).with_name("assay")), "serve", str(folder), "--quiet", "--port"]
    theirs = [sys.executable, "-m", "bench.peer_service"]
    with (
        _running(lambda port: [*ours, str(port)]) as port,
        _running(lambda p: [*theirs, str(p), str(pipeline)]) as peer,
    ):
        lines = [*_small(port, peer), *_large(port, peer)]
    lines += _start([*ours[:2], str(folder / "linear.assay"), *ours[3:]])
    with _running(lambda port: [*ours, str(port)]) as port:
        lines += [*_soak(port), *_overload(port)]
    head = [
        "## assay serve and FastAPI + scikit-learn: logistic regression, 20 columns",
        "",
        f"One process each, uvloop and httptools for both, in turn; the best of {ROUNDS} rounds counts.",
        "",
        "| what | ours | the peer | ratio | wanted | reached |",
        "|---|---|---|---|---|---|",
    ]
    return ["\n".join([*head, *lines])]


def _models() -> tuple[Path, Path]:
    """A folder with our models, and the peer's pipeline, of the same rows."""
    X, y = noisy_sign(5000, COLUMNS)
    table = written("service.parquet", {**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "y": y})
    folder, pipeline = FOLDER / "served", FOLDER / "served.joblib"
    folder.mkdir(exist_ok=True)
    shell = str(Path(sys.executable).with_name("assay"))
    for name, model in (("linear", "logistic-regression"), ("forest", "random-forest")):
        train = [shell, "train", str(table), "--target", "y", "--model", model, "--holdout", "0", "--quiet"]
        subprocess.run([*train, "--out", str(folder / f"{name}.assay")], check=True, stdout=subprocess.DEVNULL)
    fit = FIT.replace("fit(frame, y)", "fit(frame.to_numpy(), y)")
    subprocess.run([sys.executable, "-c", fit, str(table), str(pipeline)], check=True)
    return folder, pipeline


def _rows(n: int) -> list[dict[str, float]]:
    X, _ = noisy_sign(n, COLUMNS, seed=7)
    return [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]


@contextmanager
def _running(command: Any) -> Iterator[int]:
    """A server that answers, at a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    process = subprocess.Popen(command(port), stdout=subprocess.DEVNULL)
    try:
        _wait(port)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _wait(port: int) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.005)


def _best(contenders: dict[str, tuple[int, bytes]], **how: Any) -> dict[str, Outcome]:
    """Each in turn, several times; the most requests a second, and the least p99."""
    found: dict[str, list[Outcome]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, (port, request) in contenders.items():
            outcome = load(port, request, **how)
            assert set(outcome.statuses) == {200}, outcome
            found[name].append(outcome)
    return {
        name: Outcome({}, max(o.rate for o in o_s), min(o.median for o in o_s), min(o.p99 for o in o_s), 0)
        for name, o_s in found.items()
    }


def _small(port: int, peer: int) -> list[str]:
    row = _rows(1)
    objects, arrays = json.dumps(row).encode(), json.dumps([list(r.values()) for r in row])
    tensor = {"name": "x", "shape": [1, COLUMNS], "datatype": "FP64", "data": list(row[0].values())}
    found = _best(
        {
            "objects": (port, post(PATH, objects)),
            "arrays": (port, post(PATH, arrays.encode())),
            "V2": (port, post("/v2/models/linear/infer", json.dumps({"inputs": [tensor]}).encode())),
            "peer objects": (peer, post("/objects", objects)),
            "peer arrays": (peer, post("/arrays", b'{"rows": ' + arrays.encode() + b"}")),
        },
        connections=8,
        seconds=2.0,
    )
    lines = []
    for name, other in (("objects", "peer objects"), ("arrays", "peer arrays"), ("V2", "peer arrays")):
        a, b = found[name], found[other]
        lines.append(_line(f"one row, {name}: requests a second", f"{a.rate:,.0f}", f"{b.rate:,.0f}", a.rate / b.rate, "≥ 3×", a.rate >= 3 * b.rate))  # fmt: skip
        lines.append(_line(f"one row, {name}: p99", f"{a.p99 * 1e3:.2f} ms", f"{b.p99 * 1e3:.2f} ms", b.p99 / a.p99, "≥ 2×", a.p99 * 2 <= b.p99))  # fmt: skip
    return lines


def _large(port: int, peer: int) -> list[str]:
    import pyarrow as pa
    import pyarrow.ipc as ipc

    rows = _rows(ROWS)
    objects, arrays = json.dumps(rows).encode(), json.dumps([list(row.values()) for row in rows]).encode()
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(rows)
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    wrapped = b'{"rows": ' + arrays + b"}"
    _check_agreement(port, peer, objects, wrapped)
    found = _best(
        {
            "JSON objects": (port, post(PATH, objects)),
            "JSON arrays": (port, post(PATH, arrays)),
            "Arrow": (port, post(PATH, sink.getvalue().to_pybytes(), ARROW)),
            "peer objects": (peer, post("/objects", objects)),
            "peer arrays": (peer, post("/arrays", wrapped)),
        },
        connections=1,
        seconds=2.0,
    )
    lines = []
    for name, other, wanted in (
        ("JSON objects", "peer objects", 5),
        ("JSON arrays", "peer arrays", 5),
        ("Arrow", "peer arrays", 20),
    ):
        a, b = found[name].median, found[other].median
        lines.append(_line(f"{ROWS:,} rows, {name}", f"{a * 1e3:.1f} ms", f"{b * 1e3:.1f} ms ({other.split()[1]})", b / a, f"≥ {wanted}×", b >= wanted * a))  # fmt: skip
    return lines


def _check_agreement(port: int, peer: int, objects: bytes, wrapped: bytes) -> None:
    ours = [row["prediction"] for row in json.loads(_ask(port, PATH, objects))]
    theirs = json.loads(_ask(peer, "/arrays", wrapped))["prediction"]
    assert np.mean(np.array(ours) == np.array(theirs)) > 0.999


def _ask(port: int, path: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return bytes(reply.read())


def _start(command: list[str]) -> list[str]:
    """From the start of the process to the first answer."""
    row = json.dumps(_rows(1)).encode()
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        with _running(lambda port: [*command, str(port)]) as port:
            _ask(port, "/predict", row)
            seconds.append(time.perf_counter() - began)
    best = min(seconds)
    return [_line("start to first answer", f"{best:.2f} s", "", None, "≤ 1.5 s", best <= 1.5)]


def _most(port: int, request: bytes) -> float:
    """Requests a second that it can be relied on for: the least of several looks, for others may use the machine."""
    return min(load(port, request, connections=8, seconds=2.0).rate for _ in range(ROUNDS))


def _soak(port: int) -> list[str]:
    """80 % of what it can do, for long: errors, and memory at the end against that soon after the start."""
    request = post("/models/forest/predict", json.dumps(_rows(1)).encode())
    most = _most(port, request)
    memory: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(min(1.0, SOAK / 20)):
            text = _ask(port, "/metrics").decode()
            memory.append(float(text.split("\nprocess_resident_memory_bytes ")[1].split()[0]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    found = load(port, request, connections=16, seconds=SOAK, rate=0.8 * most)
    over.set()
    watcher.join()
    bad = sum(n for status, n in found.statuses.items() if status != 200)
    third = len(memory) // 3
    growth = float(np.mean(memory[-third:]) / np.mean(memory[third : 2 * third])) - 1
    what = f"soak, {SOAK:g} s at 80 % of {most:,.0f} a second (forest)"
    return [
        _line(f"{what}: errors", f"{bad} of {sum(found.statuses.values()):,}", "", None, "0", bad == 0),
        _line(
            f"{what}: memory, last third against second",
            f"{100 * growth:+.2f} % of {memory[-1] / 1e6:.0f} MB",
            "",
            None,
            "≤ 1 %",
            growth <= 0.01,
        ),
    ]


def _overload(port: int) -> list[str]:
    """Five times what it can do."""
    request = post("/models/forest/predict", json.dumps(_rows(1)).encode())
    most = _most(port, request)
    ratios = []
    for _ in range(ROUNDS):
        normal = load(port, request, connections=64, seconds=5.0, rate=0.8 * most)
        over = load(port, request, connections=256, seconds=10.0, rate=5 * most)
        assert set(over.statuses) <= {200, 503}, over
        ratios.append((over.p99 / normal.p99, over, normal))
    ratio, over, normal = sorted(ratios, key=lambda r: r[0])[len(ratios) // 2]
    what = f"5× overload (forest): p99 of the {over.rate:,.0f} a second that are answered, to that at 80 %"
    return [
        _line(what, f"{over.p99 * 1e3:.1f} ms", f"{normal.p99 * 1e3:.1f} ms (ours at 80 %)", ratio, "≤ 3×", ratio <= 3)
    ]


def _line(what: str, ours: str, peer: str, ratio: float | None, wanted: str, reached: bool) -> str:
    shown = "" if ratio is None else f"{ratio:.1f}×"
    return f"| {what} | {ours} | {peer} | {shown} | {wanted} | {'yes' if reached else '**no**'} |"
