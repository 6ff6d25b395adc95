"""Every error and warning a user can meet. Each says what was wrong, which value, and what to do about it.

Where scikit-learn is loaded, the classes that its users catch (`NotFittedError`, `DataConversionWarning`,
`UndefinedMetricWarning`, `ConvergenceWarning`) are bases of ours too, so that `except` clauses written for it go on working.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from types import FrameType
from typing import Any


class AssayError(Exception):
    """Base of all errors that Assay raises on purpose; `exit_code` is what the command line returns."""

    exit_code = 1


class ParameterError(AssayError, ValueError):
    """A hyper-parameter or an argument is outside what it can be."""

    exit_code = 2


class DataError(AssayError, ValueError):
    """The rows cannot be used as they are."""

    exit_code = 3


class OneClassError(DataError):
    """The targets hold a single class: there is nothing to tell apart."""


class TooLargeError(DataError):
    """There are more rows or bytes than are allowed."""


class DataTypeError(DataError, TypeError):
    """The data are of a type that cannot be turned into numbers."""


class SchemaError(DataError, KeyError):
    """A column is missing, unknown, or not of the kind the model was fitted on."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class ModelFileError(AssayError, ValueError):
    """A file is not a model file, is damaged, or does not fit the model it names."""

    exit_code = 3


class WriteError(ModelFileError, OSError):
    """A file could not be written (disk full, no permission); what was there before is untouched."""

    exit_code = 1


class EngineError(AssayError, RuntimeError):
    """The place where the work should run (threads, cluster) cannot do it."""


class MissingExtraError(AssayError, ImportError):
    """A part of Assay was used whose optional library is not installed; the message says how to install it."""


def install(extra: str) -> str:
    """The command that installs an optional part; the distribution is called otherwise than the package.

    >>> install("plot")
    "pip install 'assay-ml[plot]'"
    """
    return f"pip install 'assay-ml[{extra}]'"


class NotFittedError(AssayError, ValueError, AttributeError):
    """A model was asked to predict before it was fitted."""


class DataConversionWarning(UserWarning):
    """The data were reshaped or converted in a way the user may not have meant."""


class UndefinedMetricWarning(UserWarning):
    """A score has no value for the rows given, such as R² of one row."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its tolerance."""


class SeparableWarning(ConvergenceWarning):
    """The classes are separable, so that a likelihood without penalty has no maximum."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called into Assay, however deep inside this is."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "assay":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@cache
def _with_sklearn_base(ours: type, sklearn_exceptions: Any) -> type:
    theirs = getattr(sklearn_exceptions, ours.__name__)
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__})


def as_seen_by_sklearn(ours: type) -> Any:
    """The class itself, or a subclass of it and of scikit-learn's namesake where that library is loaded."""
    sklearn_exceptions = sys.modules.get("sklearn.exceptions")
    return ours if sklearn_exceptions is None else _with_sklearn_base(ours, sklearn_exceptions)


def not_fitted(model: object) -> NotFittedError:
    """The error for a model that has not been fitted yet."""
    name = type(model).__name__
    error: NotFittedError = as_seen_by_sklearn(NotFittedError)(
        f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
    )
    return error


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint naming the known words nearest to a misspelt one, or all of them where they are few.

    >>> nearest("spieces", ["species", "island"])
    "Did you mean 'species'?"
    """
    known = [str(k) for k in known]
    lower = {k.lower(): k for k in known}
    close = [lower[k] for k in difflib.get_close_matches(str(word).lower(), list(lower), n=3, cutoff=0.6)]
    if close:
        return "Did you mean " + " or ".join(repr(c) for c in close) + "?"
    shown = ", ".join(repr(k) for k in known[:12]) + (", …" if len(known) > 12 else "")
    return f"Known: {shown}."
