"""A CSV file read and encoded: 12 numbers and 4 categories, some missing, as scaled numbers, indicators and one-hot columns.

Ours finds the schema, brings the table into memory, learns the encoding and makes the whole matrix (as a stream: reads the file
once for each of these, in bounded memory, and adds up the encoded columns as they come); the peers read with pandas and make the whole
matrix with a ColumnTransformer. The sum of squares of every encoded column must agree.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import FOLDER, SCALE
from bench.harness import Race
from bench.processes import watched

BYTES = 250e6  # times ASSAY_BENCH_SCALE
LEVELS = (3, 12, 30, 50)  # of each category
BATCH = 50_000
ROUNDS = 3
FASTER = 3
OURS = """
import json, sys, time
import numpy as np
from assay.engines import engine
from assay.tables.encoding import Encoding, EncodingSpec
from assay.tables.sources.remembered import forget, remembered
from assay.tables.schema.schema import infer
from assay.tables.table_rows import TableRows, encode
from assay.tables.sources.recognise import table_source

def squares(part):
    X = part.load().X
    return np.einsum("ij,ij->j", X, X)

start = time.perf_counter()
source = remembered(table_source(sys.argv[1])) if sys.argv[2] == "threads" else table_source(sys.argv[1])
schema = infer(source)
runs = engine(sys.argv[2])
rows = runs.open(TableRows(source, schema))
forget(source)
encoding = Encoding.learn(runs, schema, EncodingSpec(scaled=True), rows)
total = sum(runs.map(squares, encode(rows, encoding).blocks()))
print(json.dumps([time.perf_counter() - start, sorted(total.tolist())]))
"""
PEER = """
import json, sys, time
import numpy as np, pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
start = time.perf_counter()
frame = pd.read_csv(sys.argv[1], engine=sys.argv[2])
numbers = list(frame.select_dtypes("number").columns)
X = ColumnTransformer([
    ("numbers", make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True)), numbers),
    ("categories", OneHotEncoder(sparse_output=sys.argv[3] == "sparse"), [c for c in frame if c not in numbers]),
], sparse_threshold=1.0 if sys.argv[3] == "sparse" else 0.0).fit_transform(frame)
total = X.multiply(X).sum(axis=0) if sys.argv[3] == "sparse" else np.einsum("ij,ij->j", X, X)
print(json.dumps([time.perf_counter() - start, sorted(np.ravel(total).tolist())]))
"""
PEERS = {
    "pandas + ColumnTransformer": ("c", "dense"),
    "the same, read by pyarrow": ("pyarrow", "dense"),
    "the same, one-hot columns sparse": ("pyarrow", "sparse"),
}


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    path = _table()
    size = path.stat().st_size
    commands = {
        "assay": [sys.executable, "-c", OURS, str(path), "threads"],
        "assay, as a stream": [sys.executable, "-c", OURS, str(path), "stream"],
    }
    commands |= {name: [sys.executable, "-c", PEER, str(path), *how] for name, how in PEERS.items()}
    seconds = dict.fromkeys(commands, np.inf)
    peaks = dict.fromkeys(commands, 0)
    sums: dict[str, Any] = {}
    for turn in range(ROUNDS + 1):
        for name, command in commands.items():
            run = watched(command)
            took, sums[name] = json.loads(run.lines[-1])
            peaks[name] = max(peaks[name], run.peak)
            if turn:  # the first fills caches
                seconds[name] = min(seconds[name], took)
    out = [
        f"## CSV of {size / 1e6:.0f} MB read and encoded, 12 numbers and 4 categories → {len(sums['assay'])} columns",
        "",
        "Imports not counted; the minimum of three rounds; peak memory of the whole process.",
        "",
        "| contender | time | MB a second | ratio | wanted | reached | peak memory | agreement |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in commands:
        ratio = seconds[name] / seconds["assay"]
        first = name == next(iter(PEERS))
        wanted, reached = (f"≥ {FASTER}×", "yes" if ratio >= FASTER else "**no**") if first else ("", "")
        same = "" if name == "assay" else _agreement(sums["assay"], sums[name])
        out.append(
            f"| {name} | {seconds[name]:.2f} s | {size / 1e6 / seconds[name]:.0f} | {ratio:.2f}× | {wanted} | {reached} "
            f"| {peaks[name] / 1e6:.0f} MB | {same} |"
        )
    return ["\n".join(out)]


def _agreement(ours: list[float], theirs: list[float]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} columns against {len(theirs)} (DIFFERENT)"
    return f"max rel. diff {np.max(np.abs(np.subtract(ours, theirs)) / np.abs(theirs)):.1e}"


def _table() -> Path:
    """The file, written once for each size."""
    import pyarrow.csv as csv

    size = BYTES * SCALE
    path = FOLDER / f"table_{size / 1e6:.0f}MB.csv"
    if path.exists():
        return path
    FOLDER.mkdir(exist_ok=True)
    beside = path.with_suffix(".part")
    with beside.open("wb") as file:
        for k in range(1_000_000):
            csv.write_csv(_batch(k), file, csv.WriteOptions(include_header=k == 0, quoting_style="needed"))
            if file.tell() >= size:
                break
    return beside.rename(path)


def _batch(seed: int) -> Any:
    """A part of the table: every third number and every other category is missing in 3 % of the rows."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    columns = {}
    for j in range(12):
        values = np.round(rng.normal(10.0 * j, 1.0 + j, BATCH), 5)
        columns[f"x{j}"] = pa.array(values, mask=rng.random(BATCH) < 0.03 if j % 3 == 0 else None)
    for j, levels in enumerate(LEVELS):
        names = np.array([f"level{k:02d}" for k in range(levels)])
        values = names[np.minimum(rng.geometric(2.0 / levels, BATCH) - 1, levels - 1)]
        columns[f"c{j}"] = pa.array(values, mask=rng.random(BATCH) < 0.03 if j % 2 else None)
    return pa.table(columns)
