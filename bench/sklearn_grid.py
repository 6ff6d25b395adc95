"""`python -m bench.sklearn_grid TABLE PLAN JOBS [FAMILY …]`: a planned comparison (bench/plan.py) in scikit-learn and joblib.

The same folds, families and settings; tolerances and passes are scikit-learn's defaults. One line of JSON a family: its
seconds and its error on the test rows. The first line is the time to read the table; starting joblib's workers is not counted.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

DENSE = ("gaussian-nb", "lda", "qda")  # those that take no sparse rows
NEIGHBOURS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100]  # of the numbers of neighbours that ours tries all
FORESTS = {"random-forest": 25, "extra-trees": 25}  # trees while settings are only compared, as ours


def model_of(family: str) -> Any:
    """scikit-learn's estimator of a family; None where it has none."""
    perceptron = {"loss": "perceptron", "penalty": None, "learning_rate": "constant", "eta0": 1.0}
    return {
        "baseline": DummyClassifier(),
        "gaussian-nb": GaussianNB(),
        "bernoulli-nb": BernoulliNB(),
        "multinomial-nb": MultinomialNB(),
        "lda": LinearDiscriminantAnalysis(),
        "qda": QuadraticDiscriminantAnalysis(),
        "logistic-regression": LogisticRegression(),
        "linear-svc": LinearSVC(),
        "perceptron": SGDClassifier(**perceptron, random_state=0),
        "knn": KNeighborsClassifier(),
        "svc": SVC(),
        "kernel-features": Pipeline([("map", Nystroem(random_state=0)), ("linear", LogisticRegression())]),
        "decision-tree": DecisionTreeClassifier(random_state=0),
        "random-forest": RandomForestClassifier(random_state=0),
        "extra-trees": ExtraTreesClassifier(random_state=0),
        "erm": OneVsRestClassifier(LogisticRegression(solver="liblinear", l1_ratio=1.0, random_state=0)),
    }.get(family)


def params_of(family: str, setting: Mapping[str, Any], n: int) -> dict[str, Any]:
    """A setting of ours in scikit-learn's words; `n` rows of a fit turn λ against the mean loss into C against the sum."""
    if family == "perceptron":
        return {"average": setting["variant"] == "averaged", "max_iter": setting["max_iter"]}
    if family == "erm":
        return {"estimator__C": 1 / (setting["lam"] * n)}
    if family == "kernel-features":  # γ as ours: one over the columns, which are scaled
        return {"map__n_components": setting["n_components"], "linear__C": setting["C"]}
    return {**setting, "n_neighbors": NEIGHBOURS} if family == "knn" else dict(setting)


def encoding_of(X: Any, encoding_spec: Mapping[str, Any], dense: bool) -> Any:
    """Numbers scaled where the family wants it, missing ones filled and marked; categories one-hot, a missing one its own."""
    if isinstance(X, np.ndarray):
        return StandardScaler() if encoding_spec["scaled"] else "passthrough"
    numbers = list(X.select_dtypes("number").columns)
    steps: list[Any] = [StandardScaler()] if encoding_spec["scaled"] else []
    if X[numbers].isna().any(axis=None):
        steps.append(SimpleImputer(add_indicator=True))
    drop = "first" if encoding_spec["categories"] == "reference" else "if_binary"
    one_hot = OneHotEncoder(handle_unknown="ignore", drop=drop, sparse_output=not dense)
    return ColumnTransformer(
        [
            ("numbers", Pipeline([(str(k), s) for k, s in enumerate(steps)]) if steps else "passthrough", numbers),
            ("categories", one_hot, [c for c in X.columns if c not in numbers]),
        ]
    )


def errors_of(
    family: str, encoding_spec: Mapping[str, Any], X: Any, y: Any, plan: Any, splits: int, jobs: int
) -> float:
    """Search and refit on the training rows of each split; the share of errors on all test rows."""
    wrong, tested = 0, 0
    for i in range(splits):
        train, test, folds = (plan[f"{name}_{i}"] for name in ("train", "test", "folds"))
        n = len(train) * folds.max() // (folds.max() + 1)
        pipeline = Pipeline([("encoding", encoding_of(X, encoding_spec, family in DENSE)), ("model", model_of(family))])
        tried = [
            {
                f"model__{key}": value if isinstance(value, list) else [value]
                for key, value in params_of(family, setting, n).items()
            }
            for setting in encoding_spec["settings"]
        ]
        rows = _rows(X, train)
        search = (
            pipeline if len(tried) < 2 else _searched(pipeline, tried, rows, y[train], folds, jobs, FORESTS.get(family))
        )
        search.fit(rows, y[train])
        if len(test):
            wrong += int(np.sum(search.predict(_rows(X, test)) != y[test]))
            tested += len(test)
    return wrong / tested


def _searched(pipeline: Any, tried: Any, rows: Any, y: Any, folds: Any, jobs: int, trees: int | None) -> Any:
    """The pipeline with the best of the settings, still to be fitted; forests are compared with fewer trees."""
    rough = clone(pipeline).set_params(model__n_estimators=trees) if trees else pipeline
    search = GridSearchCV(rough, tried, cv=PredefinedSplit(folds), n_jobs=jobs, refit=False).fit(rows, y)
    best = clone(pipeline).set_params(**search.best_params_)
    return best.set_params(model__n_jobs=jobs) if trees else best


def _rows(X: Any, which: Any) -> Any:
    return X[which] if isinstance(X, np.ndarray) else X.iloc[which]


def read(path: str, facts: Mapping[str, Any]) -> tuple[Any, Any]:
    """A frame, or an array where every column is a number that is always there; and the targets."""
    frame = pd.read_parquet(path) if Path(path).suffix == ".parquet" else pd.read_csv(path)
    y = frame.pop(facts["target"]).to_numpy()
    X = frame[facts["columns"]]
    if len(X.select_dtypes("number").columns) == X.shape[1] and not X.isna().any(axis=None):
        return X.to_numpy(dtype=np.float64), y
    return X, y


def main(table: str, where: str, jobs: str, *families: str) -> None:
    facts = json.loads(Path(f"{where}.json").read_text())
    plan = np.load(f"{where}.npz")
    GridSearchCV(GaussianNB(), {}, cv=2, n_jobs=int(jobs)).fit(np.eye(8), np.arange(8) % 2)  # starts the workers
    start = time.perf_counter()
    X, y = read(table, facts)
    print(json.dumps({"read": time.perf_counter() - start}), flush=True)
    for family in families or facts["families"]:
        if model_of(family) is None:
            continue
        start = time.perf_counter()
        error = errors_of(family, facts["families"][family], X, y, plan, facts["splits"], int(jobs))
        seconds = time.perf_counter() - start
        print(json.dumps({"family": family, "seconds": seconds, "error": error}), flush=True)


if __name__ == "__main__":
    import os

    os.environ["PYTHONWARNINGS"] = "ignore"  # joblib's workers too
    warnings.simplefilter("ignore")  # fits that do not converge say so hundreds of times
    main(*sys.argv[1:])
