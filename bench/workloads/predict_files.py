"""`assay predict` from Parquet to Parquet: a linear model of 20 columns, from the start of the process to its end.

The peer reads the table with pandas, loads a fitted pipeline with joblib and writes the answers with pandas.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.data import FOLDER, noisy_sign, scaled, written
from bench.harness import Race
from bench.processes import Watched, watched

COLUMNS = 20
ROWS = 2_000_000
TIMES = (1, 4)
ROUNDS = 3
RATE = 1e6  # rows a second wanted
FIT = """
import sys, joblib, pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
frame = pd.read_parquet(sys.argv[1])
y = frame.pop("y").to_numpy()
joblib.dump(make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, y), sys.argv[2])
"""
PEER = """
import sys, joblib, pandas as pd
model = joblib.load(sys.argv[1])
pd.DataFrame({"prediction": model.predict(pd.read_parquet(sys.argv[2]))}).to_parquet(sys.argv[3])
"""


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    n = scaled(100_000)
    X, y = noisy_sign(n, COLUMNS)
    small = written("to_fit.parquet", {**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "y": y})
    shell = str(Path(sys.executable).with_name("assay"))
    model, pipeline = FOLDER / "linear.assay", FOLDER / "linear.joblib"
    train = [shell, "train", str(small), "--target", "y", "--model", "logistic-regression", "--holdout", "0"]
    subprocess.run([*train, "--out", str(model)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-c", FIT, str(small), str(pipeline)], check=True)
    out = [
        "## predict, Parquet to Parquet: logistic regression, 20 columns",
        "",
        "Process start to end, the minimum of three rounds; peak memory of the whole process (wanted: flat).",
        "",
        "| rows | contender | time | rows a second | wanted | reached | peak memory | agreement |",
        "|---|---|---|---|---|---|---|---|",
    ]
    seconds = {}
    for times in TIMES:
        rows = times * scaled(ROWS, 1000)
        table = FOLDER / f"to_answer_{times}.parquet"
        _write(table, rows)
        ours, theirs, same = _round(shell, model, pipeline, table)
        seconds[rows] = ours.seconds
        table.unlink()
        rate = rows / ours.seconds
        reached = "yes" if rate >= RATE else "**no**"
        out.append(_line(rows, "assay predict", ours, f"≥ {RATE:,.0f}", reached, ""))
        out.append(_line(rows, "pandas + joblib + scikit-learn", theirs, "", "", same))
    (few, fast), (many, slow) = seconds.items()
    if slow > fast:  # on tables cut small the start is all
        out += ["", f"Of ours, {(many - few) / (slow - fast):,.0f} rows a second beyond the start of the process."]
    return ["\n".join(out)]


def _write(path: Path, rows: int) -> None:
    """Random columns, as `noisy_sign` makes them, in row groups of at most 250 000 rows."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names = [f"x{j}" for j in range(COLUMNS)]
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for k, start in enumerate(range(0, rows, 250_000)):
            X, _ = noisy_sign(min(250_000, rows - start), COLUMNS, seed=k + 1)
            writer.write_table(pa.table([X[:, j] for j in range(COLUMNS)], names=names))


def _round(shell: str, model: Path, pipeline: Path, table: Path) -> tuple[Watched, Watched, str]:
    """Both in turn; of each the quickest run, with the highest peak of all its runs, and how many answers are equal."""
    import pyarrow.parquet as parquet

    files = [FOLDER / "answers_ours.parquet", FOLDER / "answers_theirs.parquet"]
    commands = [
        [shell, "predict", str(model), str(table), "--out", str(files[0]), "--quiet"],
        [sys.executable, "-c", PEER, str(pipeline), str(table), str(files[1])],
    ]
    runs: list[list[Watched]] = [[], []]
    for turn in range(ROUNDS + 1):
        for mine, command in zip(runs, commands):
            run = watched(command)
            if turn:  # the first fills caches
                mine.append(run)
    best = [Watched(min(r.seconds for r in mine), max(r.peak for r in mine)) for mine in runs]
    ours, theirs = (parquet.read_table(file)["prediction"].to_numpy() for file in files)
    for file in files:
        file.unlink()
    return best[0], best[1], f"{100 * np.mean(ours == theirs):.3f}% equal"


def _line(rows: int, who: str, run: Watched, wanted: str, reached: str, same: str) -> str:
    return (
        f"| {rows:,} | {who} | {run.seconds:.2f} s | {rows / run.seconds:,.0f} | {wanted} | {reached} "
        f"| {run.peak / 1e6:.0f} MB | {same} |"
    )
