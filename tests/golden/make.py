"""Make the golden files: one small model file a model, with the answers it gave. Run by hand, once for each new model:

    python tests/golden/make.py

A file that exists is never written again: every later version of Assay must read it and answer the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cases import CASES, answers  # noqa: E402


def main() -> None:
    seen = set()
    for case in CASES:
        path = HERE / f"{case.name}.assay"
        if case.name in seen or path.exists():
            continue
        seen.add(case.name)
        X, y = case.rows(60, 3, 0)
        labels = np.array(["ash", "birch", "elm"])
        model = case.model().fit(X, labels[y] if case.classifies else y)
        questions = X[:12].tolist()
        said = {
            "rows": questions,
            "predict": model.predict(questions).tolist(),
            "answers": answers(model, questions).tolist(),
            "claims": [claim.name for claim in model.certificate_],
        }
        model.save(path)
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")
        print("made", path.name)


if __name__ == "__main__":
    main()
