"""The model file: what the store says of it, and the head of one that was just written."""

from __future__ import annotations

import inspect
import json
import tempfile
from pathlib import Path

import assay
from assay import store
from assay.store import file as format_
from reference.markdown import fenced, prose


def pages() -> dict[str, str]:
    made = [
        "# The model file",
        prose(inspect.getdoc(store) or ""),
        prose(inspect.getdoc(format_) or ""),
        "What each model keeps, with types and shapes, stands at the end of its page in [Models](models/index.md). "
        "[The architecture](../../architecture.md) says what is promised of files.",
        "## An example",
        "`assay.LinearRegression` fitted to the bundled oaks, its metadata as the file has them (arrays of claims shortened):",
        fenced(_example(), "json"),
    ]
    return {"model-file": "\n\n".join(made) + "\n"}


def _example() -> str:
    oaks = assay.dataset("oaks")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "oaks.assay"
        assay.LinearRegression().fit(oaks.X, oaks.y).save(path)
        raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + size])
    meta = head.pop("__metadata__")
    opened = {key: _opened(value) for key, value in meta.items()}
    return json.dumps({"__metadata__": opened, **head}, indent=1, ensure_ascii=False)[:6000]


def _opened(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value
