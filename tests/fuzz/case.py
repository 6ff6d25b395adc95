"""One fit to ask questions about: a model of the registry, its hyper-parameters and a table, all from one seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from fuzz.settings import draw_setting
from fuzz.tables import Rng, Table, draw_table, maybe, one_of, several

from assay.families import REGISTRY, model_class

NAMES = tuple(REGISTRY)
#: the kind of rows of models that take no plain numbers
KINDS = {"bernoulli-nb": "bits", "multinomial-nb": "counts", "complement-nb": "counts", "categorical-nb": "codes"}


@dataclass(frozen=True, eq=False)
class Case:
    """What is fitted, and the seed by which forgeries of it are drawn."""

    name: str
    params: dict[str, Any]
    table: Table
    seed: int = 0

    def model(self) -> Any:
        """The model, not fitted yet, on one thread: the order of events shall be the same every time."""
        cls = model_class(self.name)
        return cls(**{**({"n_jobs": 1} if "n_jobs" in cls.params else {}), **self.params})

    @property
    def classifies(self) -> bool:
        return model_class(self.name).kind_of(self.params) == "classifier"

    def with_table(self, table: Table) -> Case:
        return replace(self, table=table)

    @property
    def code(self) -> str:
        """A script of a few lines that fits and verifies."""
        table, cls = self.table, model_class(self.name).__name__
        given = ", ".join(f"{key}={_text(value)}" for key, value in self.params.items())
        more = "" if table.w is None else ", w"
        lines = ["import numpy as np", "import assay", f"X = {_array(table.X)}", f"y = {_array(table.y)}"]
        lines += [] if table.w is None else [f"w = {_array(table.w)}"]
        lines += ["import scipy.sparse; X = scipy.sparse.csr_matrix(X)"] if table.sparse else []
        lines += [f"model = assay.{cls}({given}).fit(X, y{more})", f"print(model.certify(X, y{more}))"]
        return "\n".join([*lines, f"print(model.certificate_.verify(X, y{more}))"])


def _text(value: Any) -> str:
    return repr(value).replace("inf", "float('inf')") if isinstance(value, float) else repr(value)


def _array(array: np.ndarray) -> str:
    numbers = repr(array.tolist()).replace("nan", "np.nan")
    return f"np.array({numbers}{', dtype=np.float32' if array.dtype == np.float32 else ''})"


def draw_case(seed: int, name: str | None = None) -> Case:
    """The case of a seed; without a name the models of the registry take turns."""
    rng = np.random.default_rng([seed, 0xA55A])
    name = NAMES[seed % len(NAMES)] if name is None else name
    cls = model_class(name)
    params: dict[str, Any] = {}
    if "loss" in cls.params and "criterion" not in cls.params and cls.kind_of({"loss": "squared"}) != cls.kind_of({}):
        params = draw_setting(rng, name, np.arange(2), 2)  # what it learns depends on its loss
    classifies = cls.kind_of(params) == "classifier"
    plain = ("numbers", "numbers", "numbers", "codes" if "categorical_features" in cls.params else "counts")
    kind = KINDS.get(name, one_of(rng, *plain))
    positive = maybe(rng, 0.5)
    table = draw_table(
        rng, kind, classes=classifies, missing=cls.takes_missing, sparse=cls.takes_sparse, positive=positive
    )
    table = several(rng, table) if cls.multi_output is True and maybe(rng, 0.2) else table
    d = table.X.shape[1]
    drawn = draw_setting(rng, name, np.unique(table.y) if classifies else np.arange(0), d)
    kept = {key: value for key, value in params.items() if key == "loss"}
    case = Case(name, {**drawn, **kept}, table, seed)
    if not kept and "loss" in drawn and cls.kind_of(drawn) != cls.kind_of({}):
        case = replace(case, params={key: value for key, value in drawn.items() if key != "loss"})
    return case if case.params.get("kernel") != "precomputed" else _precomputed(rng, case)


def _precomputed(rng: Rng, case: Case) -> Case:
    """The rows are those of a kernel: products of rows, of a moderate size."""
    X = case.table.dense
    X = X / (np.abs(X).max() or 1.0)
    return case.with_table(replace(case.table, X=X @ X.T * one_of(rng, 1.0, 1e-6, 1e6), sparse=False))
