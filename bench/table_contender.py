"""`python -m bench.table_contender NAME TRAIN TEST TASK`: one contender on one split of a table, judged on the outer test rows.

Prints one line of JSON: its error (RMSE of numbers) and log loss on rows that nothing was chosen on; of `assay` also the best
entrant's and how many took part. The peers run with their defaults, 2 threads; text of many values becomes 300 columns of tf·idf
for them, since none of them would take part otherwise (CatBoost too, so that all see the same).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pandas as pd

TARGET = "target"
MANY = 255  # different texts beyond which a column is no category for the peers
WORDS = 300
LEAST = float(np.finfo(np.float64).eps)
PEERS = {  # and what each comes from
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "CatBoost": "catboost",
    "HistGradientBoosting": "sklearn",
    "RandomForest": "sklearn",
}


def main(name: str, train: str, test: str, task: str) -> None:
    print("begun", flush=True)  # from here on its silence is counted
    print(json.dumps(ours(train, test, task) if name == "assay" else peer(name, train, test, task)))


def ours(train: str, test: str, task: str) -> dict[str, Any]:
    """The recommended model and the best entrant of a comparison, on the outer test rows."""
    import assay

    rows = pd.read_parquet(test)
    found = assay.compare(train, TARGET)
    assert found.best is not None
    best = found[found.best].model
    return {
        **judged(found.model, rows.drop(columns=TARGET), rows[TARGET], task),
        "recommended": found.recommended,
        "best": judged(best, rows.drop(columns=TARGET), rows[TARGET], task)["error"],
        "models": len(found.done),
        "not tried": [name for name, _ in found.left_out],
    }


def peer(name: str, train: str, test: str, task: str) -> dict[str, Any]:
    """A peer with its defaults, on columns as it takes them."""
    left, right = pd.read_parquet(train), pd.read_parquet(test)
    y, truth = left.pop(TARGET), right.pop(TARGET)
    X, Z = as_columns(left, right)
    if name == "RandomForest":
        X, Z = (pd.get_dummies(side, dummy_na=True) for side in (X, Z))
        Z = Z.reindex(columns=X.columns, fill_value=0)
    classes, codes = (None, y) if task == "regression" else np.unique(y.to_numpy(), return_inverse=True)
    model = model_of(name, task, X)
    model.fit(X, codes)
    return judged(model, Z, truth, task, classes)


def model_of(name: str, task: str, X: pd.DataFrame) -> Any:
    """A peer's model, all settings its own but the threads and what it has to be told of categories."""
    numbers = task == "regression"
    if name == "LightGBM":
        import lightgbm

        return (lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier)(n_jobs=2, verbose=-1)
    if name == "XGBoost":
        import xgboost

        return (xgboost.XGBRegressor if numbers else xgboost.XGBClassifier)(n_jobs=2, enable_categorical=True)
    if name == "CatBoost":
        import catboost

        named = list(X.select_dtypes("category").columns)
        cls = catboost.CatBoostRegressor if numbers else catboost.CatBoostClassifier
        return cls(thread_count=2, verbose=0, cat_features=named, allow_writing_files=False)
    import sklearn.ensemble as ensemble

    if name == "HistGradientBoosting":
        return (ensemble.HistGradientBoostingRegressor if numbers else ensemble.HistGradientBoostingClassifier)()
    return (ensemble.RandomForestRegressor if numbers else ensemble.RandomForestClassifier)(n_jobs=2)


def as_columns(left: pd.DataFrame, right: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers as they are, few texts as categories of the training rows, many as tf·idf."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    pieces: list[tuple[Any, Any]] = []
    for name in left.columns:
        a, b = left[name], right[name]
        if pd.api.types.is_numeric_dtype(a):
            pieces.append((a, b))
        elif a.nunique() <= MANY:
            levels = [*sorted(a.dropna().astype(str).unique()), "none"]
            pieces.append((_categories(a, levels), _categories(b, levels)))
        else:
            words = TfidfVectorizer(max_features=WORDS)
            wide = words.fit_transform(a.fillna("").astype(str)), words.transform(b.fillna("").astype(str))
            named = [f"{name} word {k}" for k in range(wide[0].shape[1])]
            pieces.append(
                (pd.DataFrame(wide[0].toarray(), columns=named), pd.DataFrame(wide[1].toarray(), columns=named))
            )
    X, Z = (pd.concat([pair[k].reset_index(drop=True) for pair in pieces], axis=1) for k in (0, 1))
    X.columns = Z.columns = pd.Index([f"c{k}" for k in range(X.shape[1])])  # some refuse names with brackets or quotes
    return X, Z


def _categories(column: pd.Series, levels: list[str]) -> pd.Series:
    """A column of texts as categories; what is missing or was never seen is "none"."""
    known = column.astype(object).where(column.isin(levels[:-1]), "none")
    return known.astype(pd.CategoricalDtype(levels))


def judged(model: Any, X: Any, truth: pd.Series, task: str, classes: Any = None) -> dict[str, Any]:
    """Error and log loss (None without probabilities), or RMSE."""
    answers = np.asarray(model.predict(X)).ravel()
    if task == "regression":
        return {"error": float(np.sqrt(np.mean((answers - truth.to_numpy()) ** 2))), "log loss": None}
    y = truth.to_numpy() if classes is None else np.searchsorted(classes, truth.to_numpy())
    found = {"error": float(np.mean(answers.astype(y.dtype) != y)), "log loss": None}
    try:
        P = np.asarray(model.predict_proba(X))
    except AttributeError:
        return found
    place = np.searchsorted(model.classes_, y) if classes is None else y
    found["log loss"] = float(-np.log(np.maximum(P[np.arange(len(y)), place], LEAST)).mean())
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
