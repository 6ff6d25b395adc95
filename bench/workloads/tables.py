"""`assay compare` on real tables beside what people would take instead, with their defaults: errors on outer test rows, time, memory.

A quarter of each table is set aside by a hash of its row numbers before anything else looks at it; of tables of fewer than 1500
rows three such splits are averaged. Each contender runs in a process of its own (see bench/table_contender.py); time is from its
start to its end. ASSAY_BENCH_BEFORE names the `src` folder of an older version, which then takes part as "before".
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from assay.engines.split import held_out_mask
from bench.data import FOLDER, SCALE, real_data
from bench.harness import Race
from bench.processes import Watched, watched
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
THERE = tuple(name for name in PEERS if find_spec(PEERS[name]) is not None)
HEAD = "| table | rows × columns | assay | best of ours | before | " + " | ".join(THERE) + " |"


def races() -> list[Race]:
    return []


def notes() -> Iterator[str]:
    """Errors, log losses, and what they cost; a table's line as soon as it is there."""
    folder = real_data()
    if folder is None:
        yield "ASSAY_DATA names no folder with the tables: nothing was measured."
        return
    found = []
    for name in _chosen():
        found.append(_measured(folder, name))
        print(name, {contender: runs[0][0]["error"] for contender, runs in found[-1]["runs"].items()}, flush=True)
    yield _table("Error on outer test rows (RMSE of numbers)", found, "error")
    yield _table("Log loss on outer test rows", [line for line in found if line["task"] != "regression"], "log loss")
    yield _costs(found)


def _chosen() -> list[str]:
    names = [*CLASSES, *NUMBERS]
    only = os.environ.get("ASSAY_BENCH_TABLES")
    return names if only is None else only.split(",")


def _measured(folder: Path, name: str) -> dict[str, Any]:
    """A table's contenders, each on all splits."""
    path = folder / f"{name}.csv"
    table = csv.read_csv(path) if path.exists() else parquet.read_table(folder / f"{name}.parquet")
    task = "regression" if name in NUMBERS else "classification"
    splits = SPLITS if table.num_rows < FEW else 1
    runs: dict[str, list[tuple[dict[str, Any], Watched]]] = {}
    for k in range(splits if SCALE >= 1 else 1):
        train, test = _sides(table, name, SEED + k)
        for contender in _contenders():
            runs.setdefault(contender, []).append(_run(contender, train, test, task))
    return {"table": name, "task": task, "size": f"{table.num_rows} × {table.num_columns - 1}", "runs": runs}


def _contenders() -> tuple[str, ...]:
    return ("assay", *(["before"] if os.environ.get("ASSAY_BENCH_BEFORE") else []), *THERE)


def _sides(table: pa.Table, name: str, seed: int) -> tuple[Path, Path]:
    """The two sides of an outer split as files."""
    mask = held_out_mask(0, table.num_rows, SHARE, seed)
    FOLDER.mkdir(exist_ok=True)
    paths = FOLDER / f"{name}_train.parquet", FOLDER / f"{name}_test.parquet"
    for path, kept in zip(paths, (~mask, mask)):
        parquet.write_table(table.filter(pa.array(np.asarray(kept))), path)
    return paths


def _run(contender: str, train: Path, test: Path, task: str) -> tuple[dict[str, Any], Watched]:
    """One contender in a process of its own; one that fails has no error."""
    own = "assay" if contender == "before" else contender
    command = [sys.executable, "-m", "bench.table_contender", own, str(train), str(test), task]
    if contender == "before":
        command = ["env", f"PYTHONPATH={os.environ['ASSAY_BENCH_BEFORE']}", *command]
    run = watched(command)
    return json.loads(run.lines[-1]), run


def _table(title: str, found: list[dict[str, Any]], what: str) -> str:
    """A line a table, the least in bold."""
    lines = [f"## {title}", "", HEAD, "|---" * (5 + len(THERE)) + "|"]
    for line in found:
        cells = {name: _mean([answer[what] for answer, _ in runs]) for name, runs in line["runs"].items()}
        best = _mean([answer["best"] for answer, _ in line["runs"]["assay"]]) if what == "error" else None
        least = min((v for v in cells.values() if v is not None), default=None)
        shown = {name: _shown(value, value == least) for name, value in cells.items()}
        first = [shown["assay"], _shown(best, False), shown.get("before", "")]
        lines.append(" | ".join([f"| {line['table']} | {line['size']}", *first, *(shown[p] for p in THERE)]) + " |")
    return "\n".join(lines)


def _costs(found: list[dict[str, Any]]) -> str:
    """Entrants, seconds and megabytes."""
    head = "| table | recommended | models | before | not tried | assay s | before s | assay MB | before MB | "
    lines = ["## What it took", "", head + " | ".join(f"{p} s" for p in THERE) + " |", "|---" * (9 + len(THERE)) + "|"]
    for line in found:
        runs = line["runs"]
        ours, old = runs["assay"], runs.get("before", [])
        cells = [
            line["table"],
            ", ".join(dict.fromkeys(answer["recommended"] for answer, _ in ours)),
            _counted(ours),
            _counted(old),
            ", ".join(ours[0][0]["not tried"]),
            _seconds(ours),
            _seconds(old),
            _megabytes(ours),
            _megabytes(old),
            *(_seconds(runs[p]) for p in THERE),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(values: list[float | None]) -> float | None:
    return None if any(v is None for v in values) else mean(v for v in values if v is not None)


def _shown(value: float | None, least: bool) -> str:
    text = "–" if value is None else f"{value:.4f}" if value < 10 else f"{value:.5g}"
    return f"**{text}**" if least else text


def _counted(runs: list[tuple[dict[str, Any], Watched]]) -> str:
    return str(runs[0][0]["models"]) if runs else ""


def _seconds(runs: list[tuple[dict[str, Any], Watched]]) -> str:
    return f"{mean(run.seconds for _, run in runs):.1f}" if runs else ""


def _megabytes(runs: list[tuple[dict[str, Any], Watched]]) -> str:
    return f"{max(run.peak for _, run in runs) / 1e6:.0f}" if runs else ""
