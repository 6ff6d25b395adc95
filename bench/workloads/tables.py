"""`assay compare` on real tables beside what people would take instead, with their defaults: errors on outer test rows, time, memory.

A quarter of each table is set aside by a hash of its row numbers before anything else looks at it; of tables of fewer than 1500
rows three such splits are averaged. Each contender runs in a process of its own (see bench/table_contender.py); time is from its
start to its end. ASSAY_BENCH_BEFORE names the `src` folder of an older version, which then takes part as "before";
ASSAY_BENCH_TABLES=iris,wine takes these tables alone.

What a contender did on a split is kept at once in bench/data/tables_runs.jsonl, by the text of the code that ran: begun again, only what is
missing is run (delete the file to measure anew). The first split of every table comes before the second of any, and the results are
written after each table, so that an early end leaves a whole picture. A contender that fails, or says nothing for LIMIT seconds, loses its own cell alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from assay.engines.derived import held_out_mask
from bench.data import FOLDER, SCALE, real_data
from bench.harness import Race
from bench.processes import watched
from bench.report import markdown
from bench.table_contender import PEERS

CLASSES = [
    "iris",
    "wine",
    "penguins",
    "heart_cleveland",
    "saheart",
    "wdbc",
    "pima_missing",
    "titanic",
    "vowel",
    "german",
    "digits",
    "sms_spam",
    "optdigits",
    "spambase",
    "islr_caravan",
    "svmguide1",
    "mushroom",
    "islr_default",
    "bank_marketing",
    "adult",
]
NUMBERS = ("prostate", "concrete", "winequality_red", "california_housing")
FEW, SPLITS, SHARE, SEED = 1500, 3, 0.25, 20261118
LIMIT = 600.0  # seconds without a word after which a contender is ended
THERE = tuple(name for name in PEERS if find_spec(PEERS[name]) is not None)
HEAD = "| table | rows × columns | assay | best of ours | before | " + " | ".join(THERE) + " |"
RUNS = FOLDER / "tables_runs.jsonl"
RESULTS = Path(__file__).parents[1] / "results" / "tables.md"

Run = dict[str, Any]  # what a contender answered on one split, with "seconds" and "peak" (bytes); or "failed" and why


def races() -> list[Race]:
    return []


def notes() -> Iterator[str]:
    """Errors, log losses, and what they cost."""
    folder = real_data()
    if folder is None:
        yield "ASSAY_DATA names no folder with the tables: nothing was measured."
        return
    kept = KeptRuns(RUNS)
    lines: dict[str, TableRuns] = {}
    for k in range(SPLITS if SCALE >= 1 else 1):
        for name in _chosen():
            if k == 0:
                lines[name] = TableRuns(folder, name)
            if k < lines[name].splits:
                lines[name].measure(k, kept)
                if SCALE >= 1 and _chosen() == [*CLASSES, *NUMBERS]:
                    RESULTS.write_text(markdown("tables", [], [*_written(list(lines.values()))]))
    yield from _written(list(lines.values()))


def _written(found: list[TableRuns]) -> Iterator[str]:
    yield _table("Error on outer test rows (RMSE of numbers)", found, "error")
    yield _table("Log loss on outer test rows", [line for line in found if line.task != "regression"], "log loss")
    yield _costs(found)
    failed = [
        f"- {t.name}, {c}: {run['failed']}"
        for t in found
        for c, runs in t.runs.items()
        for run in runs
        if "failed" in run
    ]
    if failed:
        yield "\n".join(["## What failed", "", *dict.fromkeys(failed)])


def _chosen() -> list[str]:
    names = [*CLASSES, *NUMBERS]
    only = os.environ.get("ASSAY_BENCH_TABLES")
    return names if only is None else only.split(",")


class KeptRuns:
    """What was run already, a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.found = {line["key"]: line["run"] for line in map(_line, lines) if line}

    def __call__(self, key: str, run: Any) -> Run:
        """The run of a key, made where it is not there; what failed is tried again."""
        if "failed" in self.found.get(key, {"failed": ""}):
            self.found[key] = run()
            FOLDER.mkdir(exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "run": self.found[key]}) + "\n")
        found: Run = self.found[key]
        return found


def _line(text: str) -> dict[str, Any]:
    """A kept line; nothing where it was cut off."""
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return {}
    return found


class TableRuns:
    """A table, and how each contender did on its outer splits."""

    def __init__(self, folder: Path, name: str) -> None:
        path = folder / f"{name}.csv"
        self.name, self.task = name, "regression" if name in NUMBERS else "classification"
        self.table = csv.read_csv(path) if path.exists() else parquet.read_table(folder / f"{name}.parquet")
        self.splits = SPLITS if self.table.num_rows < FEW else 1
        self.size = f"{self.table.num_rows} × {self.table.num_columns - 1}"
        self.runs: dict[str, list[Run]] = {contender: [] for contender in _contenders()}

    def measure(self, k: int, kept: KeptRuns) -> None:
        """Every contender on one more split."""
        for contender, runs in self.runs.items():
            key = " ".join([self.name, str(k), contender, _text_of(contender)])
            runs.append(kept(key, lambda contender=contender: _run(contender, *self._sides(SEED + k), self.task)))
        shown = {contender: _shown(runs[-1].get("error"), False) for contender, runs in self.runs.items()}
        print(self.name, f"split {k + 1} of {self.splits}", shown, flush=True)

    def _sides(self, seed: int) -> tuple[Path, Path]:
        """The two sides of an outer split as files."""
        mask = held_out_mask(0, self.table.num_rows, SHARE, seed)
        FOLDER.mkdir(exist_ok=True)
        train, test = FOLDER / f"{self.name}_train.parquet", FOLDER / f"{self.name}_test.parquet"
        for path, side in ((train, ~mask), (test, mask)):
            parquet.write_table(self.table.filter(pa.array(np.asarray(side))), path)
        return train, test


def _contenders() -> tuple[str, ...]:
    return ("assay", *(["before"] if os.environ.get("ASSAY_BENCH_BEFORE") else []), *THERE)


@cache
def _text_of(contender: str) -> str:
    """What tells the code of a contender from other versions of it."""
    if contender in PEERS:
        return version({"sklearn": "scikit-learn"}.get(PEERS[contender], PEERS[contender]))
    import assay

    folder = Path(os.environ["ASSAY_BENCH_BEFORE"]) / "assay" if contender == "before" else Path(assay.__file__).parent
    text = sha256()
    for file in sorted(folder.rglob("*.py")):
        text.update(file.read_bytes())
    return text.hexdigest()[:16]


def _run(contender: str, train: Path, test: Path, task: str) -> Run:
    """One contender in a process of its own; one that fails has no error."""
    own = "assay" if contender == "before" else contender
    command = [sys.executable, "-m", "bench.table_contender", own, str(train), str(test), task]
    if contender == "before":
        command = ["env", f"PYTHONPATH={os.environ['ASSAY_BENCH_BEFORE']}", *command]
    try:
        run = watched(command, LIMIT)
    except subprocess.CalledProcessError as error:
        return {"failed": f"it ended with exit code {error.returncode}"}
    if run.stopped:
        return {"failed": f"it was ended after {LIMIT:g} s"}
    try:
        return {**json.loads(run.lines[-1]), "seconds": run.seconds, "peak": run.peak}
    except ValueError:
        return {"failed": "it said nothing that can be read"}


def _table(title: str, found: list[TableRuns], what: str) -> str:
    """A line a table, the least in bold."""
    lines = [f"## {title}", "", HEAD, "|---" * (5 + len(THERE)) + "|"]
    for line in found:
        cells = {name: _mean(runs, what) for name, runs in line.runs.items()}
        best = _mean(line.runs["assay"], "best") if what == "error" else None
        least = min((v for v in cells.values() if v is not None), default=None)
        shown = {name: _shown(value, value == least) for name, value in cells.items()}
        first = [shown["assay"], _shown(best, False), shown.get("before", "")]
        lines.append(" | ".join([f"| {line.name} | {line.size}", *first, *(shown[p] for p in THERE)]) + " |")
    return "\n".join(lines)


def _costs(found: list[TableRuns]) -> str:
    """Entrants, seconds and megabytes."""
    head = "| table | recommended | models | before | not tried | assay s | before s | assay MB | before MB | "
    lines = ["## What it took", "", head + " | ".join(f"{p} s" for p in THERE) + " |", "|---" * (9 + len(THERE)) + "|"]
    for line in found:
        ours, old = ([run for run in line.runs.get(who, []) if "failed" not in run] for who in ("assay", "before"))
        cells = [
            line.name,
            ", ".join(dict.fromkeys(run["recommended"] for run in ours)),
            _counted(ours),
            _counted(old),
            ", ".join(ours[0]["not tried"]) if ours else "",
            _seconds(ours),
            _seconds(old),
            _megabytes(ours),
            _megabytes(old),
            *(_seconds([run for run in line.runs[p] if "failed" not in run]) for p in THERE),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(runs: list[Run], what: str) -> float | None:
    """Of the splits that all went well; None where one did not, or does not tell."""
    values = [run.get(what) for run in runs]
    return mean(v for v in values if v is not None) if values and None not in values else None


def _shown(value: float | None, least: bool) -> str:
    text = "–" if value is None else f"{value:.4f}" if value < 10 else f"{value:.5g}"
    return f"**{text}**" if least else text


def _counted(runs: list[Run]) -> str:
    return str(runs[0]["models"]) if runs else ""


def _seconds(runs: list[Run]) -> str:
    """The least: a machine that did something else meanwhile makes a run longer, never shorter."""
    return f"{min(run['seconds'] for run in runs):.1f}" if runs else ""


def _megabytes(runs: list[Run]) -> str:
    return f"{max(run['peak'] for run in runs) / 1e6:.0f}" if runs else ""
