"""`set_output`: the table library in which `transform` answers, chosen for one transformer or by `sklearn.set_config(transform_output=…)`."""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from assay.errors import ParameterError
from assay.numerics import Array

Model = TypeVar("Model")
CONTAINERS = ("default", "pandas", "polars")


def set_output(model: Model, *, transform: str | None = None) -> Model:
    """Have `transform` answer with an array ("default"), or with a frame of "pandas" or "polars"; None changes nothing."""
    if transform is not None:
        if transform not in CONTAINERS:
            raise ParameterError(f"set_output: transform={transform!r} is not possible: it must be one of {', '.join(map(repr, CONTAINERS))}, or None.")  # fmt: skip
        vars(model)["_sklearn_output_config"] = {
            "transform": transform
        }  # by this name scikit-learn's `clone` copies it
    return model


def as_asked(model: Any, X: Any, answer: Array) -> Any:
    """The answer of `transform` in the library that was asked for, with the rows' index and the names of the features."""
    container = vars(model).get("_sklearn_output_config", {}).get("transform") or _of_scikit_learn()
    if container == "pandas":
        import pandas as pd

        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(answer, columns=model.get_feature_names_out(), index=index, copy=False)
    if container == "polars":
        import polars as pl

        return pl.DataFrame(answer, schema=list(model.get_feature_names_out()), orient="row")
    return answer


def _of_scikit_learn() -> str:
    """What scikit-learn's configuration says, where it is loaded."""
    sklearn = sys.modules.get("sklearn")
    return "default" if sklearn is None else str(sklearn.get_config().get("transform_output", "default"))
