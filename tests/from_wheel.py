"""Ask a service of every model, and a studio to fit and to play every model, of the Assay that PYTHONPATH finds first.

    PYTHONPATH=FOLDER ASSAY_CACHE=EMPTY python tests/from_wheel.py [MODEL …]

Whoever calls it looks whether the cache is still empty (tools/wheel). What a model refuses, such as numbers that name no category, is passed over;
that each of the two answers something is not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
from studio_client import Client, a_line, ask, two_classes

from assay.errors import AssayError
from assay.families import REGISTRY, model_class

ROWS = 60


@contextmanager
def running(*words: str) -> Iterator[Client]:
    """A client of `assay serve` or `assay studio`, a process of its own."""
    command = [sys.executable, "-m", "assay", *words, "--port", "0", "--json", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = json.loads(process.stdout.readline())["url"]
            yield Client(url if "#token=" in url else f"{url}/#token=")
        finally:
            process.terminate()


def is_regressor(name: str) -> bool:
    return bool(model_class(name).kind_of({}) == "regressor")


def fitted(names: list[str], folder: Path) -> pa.Table:
    """Save a model of each kind, and give the rows."""
    X = np.random.default_rng(0).poisson(2.0, (ROWS, 3)).astype(float)
    table = pa.table({f"x{j}": X[:, j] for j in range(3)})
    for name in names:
        y = X @ np.arange(3.0) if is_regressor(name) else np.arange(ROWS) % 3
        with suppress(AssayError):
            model_class(name)().fit(table, y).save(folder / f"{name}.assay")
    return table


def serve(names: list[str]) -> list[str]:
    """The models whose answers a service gave."""
    with tempfile.TemporaryDirectory() as folder:
        table = fitted(names, Path(folder))
        answered = []
        with running("serve", folder) as client:
            for name in sorted(file.stem for file in Path(folder).glob("*.assay")):
                for rows in (table[:1], table):
                    status, found, _ = client.send(
                        "POST", f"/models/{name}/predict", rows.to_pylist(), content_type="application/json"
                    )
                    assert status == 200, found
                answered.append(name)
    return answered


def play(names: list[str]) -> list[str]:
    """The models that a studio fitted and whose steps it showed."""
    shown = []
    with running("studio", "--no-browser") as client:
        for name in names:
            request = ask(a_line() if is_regressor(name) else two_classes(), name)
            status, _, _ = client.send("POST", "/api/fit", request)
            if status == 200:
                assert [line["kind"] for line in client.stream("/api/play", request)][-1] == "end"
                shown.append(name)
    return shown


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:] or list(REGISTRY)
    served, played = serve(wanted), play(wanted)
    assert served, "the service answered with no model"
    assert played, "the studio showed no model"
    print(f"served: {len(served)} models; shown in the studio: {len(played)}")
