"""Make the golden files: one small model file a model, with the answers it gave. Run by hand, once for each new model:

    python tests/golden/make.py

A file that exists is never written again: every later version of Assay must read it and answer the same.
"""

from __future__ import annotations

import datetime
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


def two_targets(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows with two targets, of labels or of numbers."""
    case = next(case for case in CASES if case.name == name)
    X, y = case.rows(60, 3, 0)
    second = (X[:, 0] > X[:, 1]).astype(int)
    labels = np.array(["ash", "birch", "elm"])
    return X, np.column_stack([labels[y], labels[second]] if case.classifies else [y, 2.0 * second + X[:, 2]])


def several() -> None:
    """Models of two targets, which their files hold in another way than one."""
    for name in ("decision-tree", "forest-regressor"):
        path = HERE / "several" / f"{name}.assay"
        if path.exists():
            continue
        X, Y = two_targets(name)
        case = next(case for case in CASES if case.name == name)
        model = case.model(**({"n_estimators": 3} if name == "forest-regressor" else {})).fit(X, Y)
        path.parent.mkdir(exist_ok=True)
        model.save(path)
        said = {"predict": model.predict(X[:12]).tolist(), "claims": [claim.name for claim in model.certificate_]}
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")
        print("made", path.relative_to(HERE))


def mixed_table() -> dict[str, list]:
    """A small table with a column of every kind."""
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(48)]
    return {
        "size": [None if i % 11 == 5 else (i * 7 % 13) + 0.25 * (i % 3) for i in range(48)],
        "colour": [None if i % 17 == 3 else ("red", "blue", "green")[(i * i) % 3] for i in range(48)],
        "new": [i % 5 < 2 for i in range(48)],
        "made": [datetime.date.fromisoformat(day) for day in days],
        "note": [
            f"{'good' if i % 4 else 'bad'} box number {i} from the {'north' if i % 3 else 'south'}" for i in range(48)
        ],
        "kind": [("oak", "elm")[(i * 7 % 13) > 6] for i in range(48)],
    }


def tables() -> None:
    from assay.families import model_class
    from assay.selection.table_model import fit_table
    from assay.tables.encoding import EncodingSpec
    from assay.tables.schema.schema import infer
    from assay.tables.sources.recognise import table_source
    from assay.tables.table_rows import TableRows

    table = mixed_table()
    for name, encoding_spec in (
        ("logistic-regression", EncodingSpec("one-hot", scaled=True, sparse=True)),
        ("lda", EncodingSpec("reference")),
        ("naive-bayes", EncodingSpec("native", missing=True, sparse=True)),
    ):
        path = HERE / "tables" / f"{name}.assay"
        if path.exists():
            continue
        source = table_source(table)
        schema = infer(source, target="kind", kinds={"note": "text"})
        model = fit_table(model_class(name)(), schema, encoding_spec, TableRows(source, schema, "kind"))
        model.add_claims(target="kind")
        path.parent.mkdir(exist_ok=True)
        model.save(path)
        said = {"predict": model.predict(table).tolist(), "claims": [claim.name for claim in model.certificate_]}
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")
        print("made", path.relative_to(HERE))


if __name__ == "__main__":
    main()
    several()
    tables()
