"""`assay.compare` with the default search on three tables, against the same grid on the same folds in scikit-learn + joblib.

Each side runs once, in a process of its own, from the Parquet file to the last family's error on the held-out rows; the time
to import is not counted (nor that of SciPy, Numba and the models, which Assay loads when it needs them), nor is that to start joblib's
workers. A family of the peer's is stopped after LIMIT seconds and counts with these.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from bench.data import FOLDER, letters, made_classes, real_data, scaled, written
from bench.harness import Race
from bench.processes import watched

LIMIT = 120.0  # seconds
FASTER, LARGER = 5, 3
SHORT = 3000  # rows of a table that takes next to no memory
OURS = """
import json, sys, time
import assay, assay.selection.compare
import numba, scipy.linalg, scipy.special
assay.models()
start = time.perf_counter()
found = assay.compare(sys.argv[1], sys.argv[2])
seconds = time.perf_counter() - start
entries = {e.name: {"seconds": e.seconds, "error": e.risk.value} for e in found.entries if e.done}
print(json.dumps({"seconds": seconds, "families": entries, "tested": len(found.tested)}))
"""


@dataclass
class Side:
    """What one side needed; `families`: of each its seconds and its held-out error (None: stopped)."""

    seconds: float
    peak: int
    families: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def best(self) -> float:
        return min(float(f["error"]) for f in self.families.values() if f["error"] is not None)

    @property
    def stopped(self) -> bool:
        return any(f["error"] is None for f in self.families.values())


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    return [_note(title, path, target) for title, path, target in _tables()]


def _tables() -> list[tuple[str, Path, str]]:
    found = []
    folder = real_data()
    if folder is not None and (folder / "adult.parquet").exists():
        adult = folder / "adult.parquet"
        n = min(48_842, scaled(48_842, 3000))
        found.append(
            (f"Adult, {n:,}×14, mixed, with missing values", adult if n == 48_842 else _head(adult, n), "target")
        )
    n = scaled(20_000, 2600)
    X, y = letters(n)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    found.append(
        (f"like letters, {n:,}×16, 26 classes", written("letters.parquet", {**columns, "y": y.astype(str)}), "y")
    )
    n = scaled(1_000_000, 2000)
    X, y = made_classes(n, 20, 2)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    found.append((f"{n:,}×20 numbers, 2 classes", written("numbers.parquet", {**columns, "y": y}), "y"))
    return found


def _note(title: str, path: Path, target: str) -> str:
    where = FOLDER / "plan"
    watched([sys.executable, "-m", "bench.plan", str(path), target, str(where)])
    facts = json.loads(where.with_suffix(".json").read_text())
    short = watched(
        [sys.executable, "-c", OURS, str(_head(path, SHORT)), target]
    )  # compiled loops are on disk from here on
    run = watched([sys.executable, "-c", OURS, str(path), target])
    answer = json.loads(run.lines[-1])
    ours = Side(answer["seconds"], run.peak, answer["families"])
    theirs = _peer(path, where, list(facts["families"]))
    size = 8 * facts["rows"] * len(facts["columns"])
    return "\n".join(
        [
            f"## compare: {title}",
            "",
            *_sides(ours, theirs, answer["tested"]),
            *_memory(ours, theirs, short.peak, size),
            "",
            *_families(ours, theirs),
        ]
    )


def _head(path: Path, rows: int) -> Path:
    """The first rows of a table."""
    import pyarrow.parquet as parquet

    FOLDER.mkdir(exist_ok=True)
    short = FOLDER / f"{path.stem}_{rows}.parquet"
    parquet.write_table(parquet.read_table(path).slice(0, rows), short)
    return short


def _peer(path: Path, where: Path, families: list[str]) -> Side:
    """The peer's families in one process, which is started again with the rest where one of them was stopped."""
    side = Side(0.0, 0)
    left = families
    while left:
        command = [sys.executable, "-m", "bench.sklearn_grid", str(path), str(where), "2", *left]
        run = watched(command, LIMIT)
        side.peak = max(side.peak, run.peak)
        answers = [json.loads(line) for line in run.lines]
        if not side.seconds:
            side.seconds = answers[0]["read"]
        for answer in answers[1:]:
            side.families[answer["family"]] = answer
        if not run.stopped:
            break
        from bench.sklearn_grid import model_of

        slow = next(f for f in left if f not in side.families and model_of(f) is not None)
        side.families[slow] = {"seconds": LIMIT, "error": None}
        left = left[left.index(slow) + 1 :]
    side.seconds += sum(f["seconds"] for f in side.families.values())
    return side


def _sides(ours: Side, theirs: Side, tested: int) -> list[str]:
    """The table of both sides, with what was wanted."""
    at_least = "≥ " if theirs.stopped else ""
    ratio = theirs.seconds / ours.seconds
    error = sqrt(theirs.best * (1 - theirs.best) / tested)  # of a held-out error that is the peer's
    over = (ours.best - theirs.best) / error if error else 0.0
    return [
        "| | assay | scikit-learn + joblib | ratio | wanted | reached |",
        "|---|---|---|---|---|---|",
        f"| time | {ours.seconds:.2f} s | {at_least}{theirs.seconds:.2f} s | {at_least}{ratio:.1f}× | ≥ {FASTER}× "
        f"| {_said(ratio >= FASTER)} |",
        f"| best held-out error | {ours.best:.4f} | {theirs.best:.4f} | {over:+.2f} standard errors | not worse "
        f"| {_said(ours.best <= theirs.best)} |",
    ]


def _memory(ours: Side, theirs: Side, short: int, size: int) -> list[str]:
    """Peaks of all processes together; `short` is ours on a few rows, which is what the libraries take."""
    whole, beyond = ours.peak / size, max(0, ours.peak - short) / size
    return [
        f"| peak memory | {ours.peak / 1e6:.0f} MB | {theirs.peak / 1e6:.0f} MB | {theirs.peak / ours.peak:.2f}× | | |",
        f"| … over the table's {size / 1e6:.1f} MB | {whole:.2f}× | {theirs.peak / size:.2f}× | | ≤ {LARGER}× "
        f"| {_said(whole <= LARGER)} |",
        f"| … without the {short / 1e6:.0f} MB that {SHORT} rows take | {beyond:.2f}× | | | ≤ {LARGER}× "
        f"| {_said(beyond <= LARGER)} |",
    ]


def _said(reached: bool) -> str:
    return "yes" if reached else "**no**"


def _families(ours: Side, theirs: Side) -> list[str]:
    """Family by family. Ours share the cores with one another where the table is small, so their times overlap."""
    out = [
        "| family | assay | error | scikit-learn | error |",
        "|---|---|---|---|---|",
    ]
    for name, mine in ours.families.items():
        peer = theirs.families.get(name)
        if peer is None:
            cells = "no peer | "
        elif peer["error"] is None:
            cells = f"stopped after {peer['seconds']:.0f} s | "
        else:
            cells = f"{peer['seconds']:.2f} s | {peer['error']:.4f}"
        out.append(f"| {name} | {mine['seconds']:.2f} s | {mine['error']:.4f} | {cells} |")
    return out
