"""A Parquet file that grows 1×, 4×, 16×: the peak memory of a fit out of core stays flat."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.harness import Race

COLUMNS = 50
ROWS = 800_000  # 0.32 GB as float64; 16 times as many are 5.1 GB
FOLDER = Path(__file__).parents[1] / "data"
CHILD = """
import re, sys, time, assay
from pathlib import Path
start = time.perf_counter()
model = assay.GaussianNB().fit(assay.rows(sys.argv[1], target="y"))
seconds = time.perf_counter() - start
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)
print(int(peak) // 1024, seconds, int(model.class_count_.sum()))
"""


def _write(path: Path, times: int) -> None:
    """Random columns, stored plainly: the file is as large as its numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(COLUMNS)]
    writer = None
    for part in range(times * 8):
        rng = np.random.default_rng(part)
        n = ROWS // 8
        columns = [pa.array(c) for c in rng.normal(size=(COLUMNS, n))]
        table = pa.table([*columns, pa.array(rng.integers(0, 2, n))], names=[*names, "y"])
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    FOLDER.mkdir(exist_ok=True)
    out = [
        "## Out of core: GaussianNB on a Parquet file, 50 columns",
        "",
        "Peak resident memory of the whole process (wanted: flat, at most 600 MB).",
        "",
        "| rows | as float64 | peak memory | time |",
        "|---|---|---|---|",
    ]
    for times in (1, 4, 16):
        path = FOLDER / f"rows_{times}.parquet"
        _write(path, times)
        answer = subprocess.run(
            [sys.executable, "-c", CHILD, str(path)], check=True, capture_output=True, text=True, env=dict(os.environ)
        )
        megabytes, seconds, rows = answer.stdout.split()
        assert int(rows) == times * ROWS
        path.unlink()
        out.append(
            f"| {times * ROWS:,} | {times * ROWS * COLUMNS * 8 / 1e9:.2f} GB | {megabytes} MB | {float(seconds):.2f} s |"
        )
    return ["\n".join(out)]
