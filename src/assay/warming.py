"""All loops compiled ahead of their first use: small fits that between them go every way through every model.

    for job in jobs():     # independent of each other: any number of processes may share them
        run(job)

`assay warm`, the tests and whoever makes a wheel go through this one list. What a fit compiles is kept by `compiled`, and whoever comes
next loads it; a list that has been gone through compiles nothing when it is gone through again.

A loop is compiled for the types of what it is handed. So a model is fitted to each kind of target that it takes, in both precisions, to rows that
may be written to and rows that may not (as frames hand them over), dense and sparse, with and without weights, few and many, and with each of its
hyper-parameters changed in turn. What a model refuses, such as counts below zero, is passed over.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.datasets import CATALOGUE
from assay.errors import AssayError
from assay.families import REGISTRY, model_class
from assay.numerics import Array
from assay.processes.supervisor import Job, Outcome, run_jobs

if TYPE_CHECKING:
    from assay.estimator.params import Param

TARGETS = ("two classes", "many classes", "numbers")
PRECISIONS = ("float64", "float32")
FEW, COLUMNS = 60, 3
ROWS = 200  # of a table
MANY = 3000  # rows from which on every model that leaves few to NumPy has come to its loops
VERY_MANY = 70_000  # rows from which on a model that
BINNING = ("bins", "max_bins")  # has as a hyper-parameter bins its columns
ALIKE = ("digits", "spam")  # bundled tables that call no loop which the others do not, and take long
STEPS = 3  # of a fit that are looked at
SPOKEN = ("verbose",)  # hyper-parameters that only make it talk


def jobs(models: Sequence[str] | None = None) -> list[Job]:
    """What is to be done for these models (all, and then the bundled tables besides), each piece under a name of its own; those that share
    loops are not beside each other, so that two processes seldom compile the same one at the same time."""
    names = _apart(list(REGISTRY) if models is None else list(models))
    fits = [_fits_job(name, *kind) for kind in _kinds() for name in names if kind[0] in targets_of(name)]
    tables = [Job(f"{name}, a table", partial(_quietly, partial(compare_tables, name))) for name in names]
    bundled = [
        Job(f"all models, {name}", partial(_quietly, partial(compare_bundled, name)))
        for name in CATALOGUE
        if name not in ALIKE
    ]
    return [*fits, *tables, *(bundled if models is None else [])]


def run(job: Job) -> None:
    """Do one here and now."""
    job(lambda event: None)


def run_all(todo: Sequence[Job], workers: int) -> Iterator[Outcome]:
    """Do all in so many processes; the outcomes as they come."""
    import assay.compiled  # noqa: F401 - the compiler: forked processes inherit it

    return run_jobs(todo, workers=workers)


def targets_of(name: str) -> tuple[str, ...]:
    """The kinds of target that some setting of a model takes."""
    kinds = {model_class(name).kind_of(params) for params in settings_of(name)}
    return tuple(target for target in TARGETS if ("regressor" if target == "numbers" else "classifier") in kinds)


def _kinds() -> list[tuple[str, str]]:
    return [(target, precision) for precision in PRECISIONS for target in TARGETS]


def _apart(names: list[str], stride: int = 3) -> list[str]:
    return [names[i] for start in range(stride) for i in range(start, len(names), stride)]


def _fits_job(name: str, target: str, precision: str) -> Job:
    return Job(f"{name}, {target}, {precision}", partial(_quietly, partial(fit_all_ways, name, target, precision)))


def _quietly(work: Callable[[], None], _emit: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()


# --- the ways of a model -----------------------------------------------------------------------------------------------------


def fit_all_ways(name: str, target: str, precision: str) -> None:
    """Fit a model to rows of every kind, and let it answer; with other settings than its own, to the usual ones."""
    cls, wanted = model_class(name), "regressor" if target == "numbers" else "classifier"
    first, *others = (params for params in settings_of(name) if cls.kind_of(params) == wanted)
    for X, y, w in (*_usual(target, precision, FEW), *_unusual(target, precision, FEW)):
        _learn(cls(**first), X, y, w)
        _watch(cls(**first), X, y)
    for params, (X, y, w) in product(others, list(_usual(target, precision, FEW))):
        _learn(cls(**params), X, y, w)
    for X, y, w in _usual(target, precision, MANY):
        _learn(cls(**first), X, y, w)
    if cls.multi_output:
        for n in (FEW, MANY):
            for X, y, w in _usual(target, precision, n):
                _learn(cls(**first), X, np.column_stack([y, y[::-1]]), w)
    if any(key in cls.params for key in BINNING):
        few = {"n_estimators": 4} if "n_estimators" in cls.params else {"max_depth": 8}
        for X, y, w in _usual(target, precision, VERY_MANY):
            _learn(cls(**first, **few), X, y, w)
            if cls.multi_output and w is None:
                _learn(cls(**first, **few), X, np.column_stack([y, y[::-1]]), w)


def settings_of(name: str) -> list[dict[str, Any]]:
    """The hyper-parameters of a model as they are, and each of them changed in turn."""
    params = {key: each for key, each in model_class(name).params.items() if key not in SPOKEN}
    return [{}, *({key: value} for key, each in params.items() for value in _others(each))]


def _others(param: Param) -> Iterator[Any]:
    """What else a hyper-parameter may be, one value of each kind: its words, True and False, a small number where it is a word."""
    usual = param.default
    numbers = () if isinstance(usual, int | float) else (2,)
    for other in (*getattr(param, "options", ()), *param.words, True, False, *numbers):
        if other != usual and param.accepts(other):
            yield other


def _learn(model: Any, X: Any, y: Array, w: Array | None) -> None:
    with suppress(AssayError):
        model.fit(X, y, sample_weight=w)
        for rows in (X, X[:1]):
            for answer in ("predict", "predict_proba", "decision_function"):
                if hasattr(model, answer):
                    getattr(model, answer)(rows)
        if hasattr(model, "shap_values"):
            model.shap_values(X), model.shap_values(X[:1], X[:2])
        _ = model.certificate_


def compare_tables(name: str) -> None:
    """Compare a model with itself on small tables, as `assay compare` would: their columns are encoded, its settings searched."""
    from assay.selection.compare import compare

    for target in targets_of(name):
        for columns in (_numbers, _categories, _mixed):
            with suppress(AssayError):
                compare(columns(target), "target", models=[name], workers=0, resampling="holdout")


def compare_bundled(name: str) -> None:
    """Compare all models on a bundled table: real ones are searched longer than made ones."""
    from assay.selection.compare import compare

    with suppress(AssayError):
        compare(name, CATALOGUE[name][0], workers=0)


def _watch(model: Any, X: Any, y: Array) -> None:
    """The first steps of a fit, as the studio shows them."""
    with suppress(AssayError):
        for step in islice(model.steps(X, y), STEPS):
            state = model.at(step)
            if state is not None:
                state.predict(X)


# --- rows --------------------------------------------------------------------------------------------------------------------

Table = tuple[Any, Array, Array | None]  # rows, targets, weights


def _usual(target: str, precision: str, n: int) -> Iterator[Table]:
    """Measurements and counts that may be written to, or not and with weights; and sparse ones."""
    for X in (_measured(precision, n), counted := _counted(precision, n)):
        y = _target(X, target)
        yield X, y, None
        yield X, _locked(y), None
        yield _locked(X), _locked(y), _locked(_weights(n))
    yield _sparse(counted), y, _weights(n)


def _unusual(target: str, precision: str, n: int) -> Iterator[Table]:
    """What is left of such pairs, column by column as frames have them, and whole numbers."""
    for X in (_measured(precision, n), counted := _counted(precision, n)):
        y = _target(X, target)
        yield X, y, _weights(n)
        yield X, _locked(y), _weights(n)
        yield _locked(X), y, None
        yield _locked(X), y, _weights(n)
        yield _locked(X), _locked(y), None
        yield np.asfortranarray(X), y, None
    yield counted.astype(np.int64), y, None


def _measured(precision: str, n: int) -> Array:
    return np.random.default_rng(0).standard_normal((n, COLUMNS)).astype(precision)


def _counted(precision: str, n: int) -> Array:
    return np.random.default_rng(0).poisson(1.0, (n, COLUMNS)).astype(precision)


def _weights(n: int) -> Array:
    return 0.5 + np.arange(n) % 3


def _sparse(X: Array) -> Any:
    from scipy.sparse import csr_array

    return csr_array(X)


def _target(X: Array, target: str) -> Array:
    score: Array = np.abs(X @ np.array([1.0, -1.0, 0.5], dtype=X.dtype)).astype(np.float64)
    if target == "numbers":
        return score
    order = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    return np.asarray(order * (2 if target == "two classes" else 3) // len(X))


def _locked(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _numbers(target: str) -> dict[str, Any]:
    X = np.random.default_rng(1).standard_normal((ROWS, COLUMNS))
    return {**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "target": _named(_target(X, target))}


def _categories(target: str) -> dict[str, Any]:
    X = np.random.default_rng(2).integers(0, 4, (ROWS, COLUMNS)).astype(np.float64)
    words = np.array(["oak", "ash", "elm", "fir"])
    return {**{f"x{j}": words[X[:, j].astype(int)] for j in range(COLUMNS)}, "target": _named(_target(X, target))}


def _mixed(target: str) -> dict[str, Any]:
    """Numbers some of which are missing, categories, and running text."""
    table, words = _numbers(target), _categories(target)
    gaps = np.where(np.arange(ROWS) % 7 == 0, np.nan, table["x0"])
    lines = [" ".join([*line, str(i % 41), "leaf" * (i % 2)]) for i, line in enumerate(zip(words["x0"], words["x1"]))]
    return {**table, "x0": gaps, "kind": words["x2"], "words": lines}


def _named(y: Array) -> Array:
    return y if y.dtype.kind == "f" else np.array(["a", "b", "c"])[y]
