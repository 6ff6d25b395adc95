"""Honest model files to be changed: one a model of the registry and setting, each with the rows that its certificate speaks of."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, blobs, lines, pairs

import assay
from assay.store import encode

HERE = Path(__file__).resolve().parent
TABLES = HERE.parent / "golden" / "tables"
MOST_ROWS = 60


def coloured() -> tuple[Any, np.ndarray]:
    """A frame with a column of text, and two classes."""
    import pandas as pd

    X, y = pairs(MOST_ROWS, 3, 1)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["colour"] = np.array(["red", "green", "blue", "grey"])[(np.arange(len(y)) * 7 + y) % 4]
    frame.loc[::9, "a"] = np.nan
    return frame, np.array(["ash", "birch"])[y]


def coded() -> tuple[np.ndarray, np.ndarray]:
    """Numbers, of which the last column names categories."""
    X, y = (a.copy() for a in blobs(MOST_ROWS, 3, 1))
    X[:, 2] = (np.arange(len(X)) * 5 + y) % 6
    return X, y


def more_fits() -> Iterator[tuple[str, Any, Any, Any]]:
    """(name, model, X, y): what the cases of the laws do not hold: categories, quantiles, votes, given kernels, few rows."""
    two, three, numbers = pairs(MOST_ROWS, 3, 0), blobs(MOST_ROWS, 3, 0), lines(MOST_ROWS, 3, 0)
    yield "tree-text", assay.DecisionTreeClassifier(max_depth=4), *coloured()
    yield "forest-text", assay.RandomForestClassifier(3, max_depth=4), *coloured()
    yield "tree-codes", assay.DecisionTreeClassifier(max_depth=4, categorical_features=[2]), *coded()
    yield "bayes-text", assay.NaiveBayes(), coloured()[0].fillna(0.0), coloured()[1]
    yield "quantiles", assay.RandomForestRegressor(3, max_depth=3, quantiles=True), *numbers
    yield "majority", assay.RandomForestClassifier(3, max_depth=3, voting="majority"), *three
    yield "voted", assay.Perceptron(variant="voted", max_iter=3), *two
    yield "averaged", assay.Perceptron(variant="averaged", max_iter=3), *three
    yield "linear-svm", assay.SVC(kernel="linear"), *two
    yield "given-kernel", assay.SVC(kernel="precomputed"), two[0] @ two[0].T, two[1]
    yield "given-perceptron", assay.KernelPerceptron(kernel="precomputed", max_iter=3), two[0] @ two[0].T, two[1]
    yield "learned-metric", assay.KNeighborsClassifier(3, metric="learned"), *three
    yield "whitened", assay.KNeighborsRegressor(3, metric="mahalanobis"), *numbers
    yield "all-neighbours", assay.KNeighborsClassifier(4), three[0][:4], np.array([0, 1, 1, 0])
    yield "separable", assay.LogisticRegression(C=float("inf")), two[0], (two[0][:, 0] > 0).astype(int)
    yield "likelihood", assay.LogisticRegression(C=float("inf")), *two
    yield "regression", assay.ERM(loss="squared"), *numbers


def fits() -> Iterator[tuple[str, Any, Any, Any]]:
    """(name, model, X, y) of every honest file."""
    for number, case in enumerate(CASES):
        X, y = case.rows(MOST_ROWS, 3)
        yield f"{case.name}-{number}", case.model(), X, np.array(["ash", "birch", "elm"])[y] if case.classifies else y
    yield from more_fits()


def golden_tables() -> Iterator[tuple[str, bytes, Any, Any]]:
    """Models of tables, with the table of their fit."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("golden_make", TABLES.parent / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    for path in sorted(TABLES.glob("*.assay")):
        yield f"table-{path.stem}", path.read_bytes(), make.mixed_table(), None


def write_honest(folder: Path) -> list[str]:
    """Write every honest file and its rows into a folder, once; the names, in order."""
    listed = folder / "names.json"
    if not listed.exists():
        names = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, data, X, y in made():
                (folder / f"{name}.assay").write_bytes(data)
                (folder / f"{name}.rows").write_bytes(pickle.dumps((X, y)))  # ours, and for our own child alone
                names.append(name)
        listed.write_text(json.dumps(names))
    found: list[str] = json.loads(listed.read_text())
    return found


def made() -> Iterator[tuple[str, bytes, Any, Any]]:
    for name, model, X, y in fits():
        fitted = model.fit(X, y)
        fitted.add_claims(target="species")
        yield name, encode(fitted.to_record()), X, y
    yield from golden_tables()


def read_honest(folder: Path, name: str) -> tuple[bytes, Any, Any]:
    """(file, X, y)."""
    X, y = pickle.loads((folder / f"{name}.rows").read_bytes())
    return (folder / f"{name}.assay").read_bytes(), X, y
