"""Assay: classical supervised learning for people with a table, with certificates that anyone can re-check.

Everything is loaded when it is first used: `import assay` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay import select as _select
from assay._version import __version__ as __version__

if TYPE_CHECKING:
    from assay.assess.bayes_bracket import cover_hart as cover_hart
    from assay.certify import Certificate as Certificate
    from assay.certify import Claim as Claim
    from assay.datasets import dataset as dataset
    from assay.engines import engine as engine
    from assay.hypotheses import ERM as ERM
    from assay.hypotheses import SVC as SVC
    from assay.hypotheses import SVR as SVR
    from assay.hypotheses import Baseline as Baseline
    from assay.hypotheses import BaselineRegressor as BaselineRegressor
    from assay.hypotheses import BernoulliNB as BernoulliNB
    from assay.hypotheses import CategoricalNB as CategoricalNB
    from assay.hypotheses import DecisionTreeClassifier as DecisionTreeClassifier
    from assay.hypotheses import DecisionTreeRegressor as DecisionTreeRegressor
    from assay.hypotheses import ExtraTreesClassifier as ExtraTreesClassifier
    from assay.hypotheses import ExtraTreesRegressor as ExtraTreesRegressor
    from assay.hypotheses import GaussianNB as GaussianNB
    from assay.hypotheses import KernelFeaturesClassifier as KernelFeaturesClassifier
    from assay.hypotheses import KernelFeaturesRegressor as KernelFeaturesRegressor
    from assay.hypotheses import KernelPerceptron as KernelPerceptron
    from assay.hypotheses import KNeighborsClassifier as KNeighborsClassifier
    from assay.hypotheses import KNeighborsRegressor as KNeighborsRegressor
    from assay.hypotheses import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from assay.hypotheses import LinearRegression as LinearRegression
    from assay.hypotheses import LinearSVC as LinearSVC
    from assay.hypotheses import LogisticRegression as LogisticRegression
    from assay.hypotheses import MLPClassifier as MLPClassifier
    from assay.hypotheses import MLPRegressor as MLPRegressor
    from assay.hypotheses import MultinomialNB as MultinomialNB
    from assay.hypotheses import NaiveBayes as NaiveBayes
    from assay.hypotheses import Perceptron as Perceptron
    from assay.hypotheses import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from assay.hypotheses import RandomForestClassifier as RandomForestClassifier
    from assay.hypotheses import RandomForestRegressor as RandomForestRegressor
    from assay.hypotheses import RectangleClassifier as RectangleClassifier
    from assay.hypotheses import Ridge as Ridge
    from assay.hypotheses import models as models
    from assay.hypotheses.kernel_features import Nystroem as Nystroem
    from assay.hypotheses.kernel_features import RandomFourier as RandomFourier
    from assay.hypotheses.neighbours import KDTree as KDTree
    from assay.hypotheses.neighbours import NearestNeighbors as NearestNeighbors
    from assay.hypotheses.separability import margin as margin
    from assay.hypotheses.separability import separability as separability
    from assay.risk import empirical_risk as empirical_risk
    from assay.risk.custom_surrogate import surrogate as surrogate
    from assay.select.compare import compare as compare
    from assay.select.comparison import Comparison as Comparison
    from assay.select.loading import load as load
    from assay.select.splits import Resampling as Resampling
    from assay.select.table_model import TableModel as TableModel
    from assay.select.training import train as train
    from assay.tables import rows as rows
    from assay.tables.description.describe import schema as schema
    from assay.tables.description.schema import Schema as Schema

_ELSEWHERE = {
    "Certificate": "assay.certify",
    "Claim": "assay.certify",
    "dataset": "assay.datasets",
    "engine": "assay.engines",
    "load": "assay.select.loading",
    "models": "assay.hypotheses",
    "Nystroem": "assay.hypotheses.kernel_features",
    "RandomFourier": "assay.hypotheses.kernel_features",
    "KDTree": "assay.hypotheses.neighbours",
    "NearestNeighbors": "assay.hypotheses.neighbours",
    "cover_hart": "assay.assess.bayes_bracket",
    "margin": "assay.hypotheses.separability",
    "separability": "assay.hypotheses.separability",
    "surrogate": "assay.risk.custom_surrogate",
    "empirical_risk": "assay.risk",
    "rows": "assay.tables",
    "compare": "assay.select.compare",
    "Comparison": "assay.select.comparison",
    "Resampling": "assay.select.splits",
    "TableModel": "assay.select.table_model",
    "train": "assay.select.training",
    "Schema": "assay.tables.description.schema",
    "schema": "assay.tables.description.describe",
}
_FOLDERS = ("assess", "plots", "report")


def _write_report(comparison: Any, path: Any) -> None:
    from assay.report import write_report

    write_report(comparison, path)


_select.write_report = _write_report  # what `Comparison.report` calls


def __getattr__(name: str) -> Any:
    where = _ELSEWHERE.get(name)
    if name in _FOLDERS:
        return import_module(f"assay.{name}")
    if where is None and not name.startswith("_"):
        from assay.hypotheses import CLASS_NAMES, model_class

        if name in CLASS_NAMES:
            return model_class(CLASS_NAMES[name])
    if where is None:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    return getattr(import_module(where), name)


def __dir__() -> list[str]:
    from assay.hypotheses import CLASS_NAMES

    return sorted([*_ELSEWHERE, *_FOLDERS, *CLASS_NAMES, "__version__"])
