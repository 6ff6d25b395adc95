"""`python -m bench.plan TABLE TARGET OUT`: the folds and the grid of `assay.compare` on a table, written down for its peers.

OUT.json has the columns and, by family, its settings and what it wants of the encoding; OUT.npz has, of each split i, the
row numbers train_i and test_i and the inner fold of each training row, folds_i. Where the model to hand over is fitted on
all rows, the last split has an empty test side.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import assay
from assay.selection.candidates import candidates
from assay.selection.trial import inner_splits


def write_plan(table: str, target: str, out: str) -> None:
    found = assay.compare(table, target, models=["baseline"])
    data = found.data
    assert data.classes is not None  # the peer's grid is one of classifiers
    pairs = [(split.train, split.test) for split in found.splits]
    if found.resampling.kind != "holdout":
        pairs.append((np.arange(len(data)), np.empty(0, dtype=np.int64)))
    arrays: dict[str, Any] = {}
    for i, (train, test) in enumerate(pairs):
        folds = np.empty(len(data), dtype=np.int64)
        for k, inner in enumerate(inner_splits(data, train, found.resampling.seed)):
            folds[inner.test] = k
        arrays |= {f"train_{i}": train, f"test_{i}": test, f"folds_{i}": folds[train]}
    np.savez(f"{out}.npz", **arrays)
    families, _ = candidates(data.schema, len(data.classes))
    facts = {
        "target": target,
        "rows": len(data),
        "columns": [c.name for c in data.schema.used],
        "splits": len(pairs),
        "families": {
            e.name: {
                "settings": e.settings(),
                "categories": e.encoding_spec.categories,
                "scaled": e.encoding_spec.scaled,
            }
            for e in families
        },
    }
    with open(f"{out}.json", "w") as file:
        json.dump(facts, file)


if __name__ == "__main__":
    write_plan(*sys.argv[1:4])
