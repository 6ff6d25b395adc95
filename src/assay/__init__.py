"""Assay: classical supervised learning for people with a table, with certificates that anyone can re-check.

Everything is loaded when it is first used: `import assay` itself costs next to nothing.
"""

from __future__ import annotations

import sys

_called = getattr(sys, "argv", None) or [""]
_is_command = _called[0].replace("\\", "/").rpartition("/")[2] in ("assay", "assay.exe")
_is_module = _called[0] == "-m" and not {"assay", "assay.cli"}.isdisjoint(sys.orig_argv)
if (_is_command or _is_module) and "--multiprocessing-fork" not in sys.orig_argv:  # which a spawned child has
    from assay import _signals

    _signals.at_start()  # the command, not a program that imports the library: Ctrl-C is answered from here on

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from assay import selection as _select  # noqa: E402
from assay._version import __version__ as __version__  # noqa: E402

if TYPE_CHECKING:
    from assay.assess.bayes_error import cover_hart as cover_hart
    from assay.certify import Certificate as Certificate
    from assay.certify import Claim as Claim
    from assay.datasets import dataset as dataset
    from assay.engines import engine as engine
    from assay.families import *  # noqa: F403 (the models, `models` itself)
    from assay.families.boosting.estimators import HistGradientBoostingClassifier as HistGradientBoostingClassifier
    from assay.families.boosting.estimators import HistGradientBoostingRegressor as HistGradientBoostingRegressor
    from assay.families.kernel.features.estimators import Nystroem as Nystroem
    from assay.families.kernel.features.estimators import RandomFourier as RandomFourier
    from assay.families.kernel.features.estimators import RBFSampler as RBFSampler
    from assay.families.neighbours.components import NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis
    from assay.families.neighbours.nearest import KDTree as KDTree
    from assay.families.neighbours.nearest import NearestNeighbors as NearestNeighbors
    from assay.families.separability.separability import margin as margin
    from assay.families.separability.separability import separability as separability
    from assay.risk import empirical_risk as empirical_risk
    from assay.risk.custom_surrogate import surrogate as surrogate
    from assay.selection.compare import compare as compare
    from assay.selection.comparison import Comparison as Comparison
    from assay.selection.loading import load as load
    from assay.selection.several_targets import Comparisons as Comparisons
    from assay.selection.several_targets import compare_targets as compare_targets
    from assay.selection.splits import Resampling as Resampling
    from assay.selection.table_model import TableModel as TableModel
    from assay.selection.training import train as train
    from assay.tables import rows as rows
    from assay.tables.schema.schema import Schema as Schema
    from assay.tables.schema.survey import schema as schema

_ELSEWHERE = {
    "Certificate": "assay.certify",
    "Claim": "assay.certify",
    "dataset": "assay.datasets",
    "engine": "assay.engines",
    "load": "assay.selection.loading",
    "models": "assay.families",
    "Nystroem": "assay.families.kernel.features.estimators",
    "RBFSampler": "assay.families.kernel.features.estimators",
    "RandomFourier": "assay.families.kernel.features.estimators",
    "HistGradientBoostingClassifier": "assay.families.boosting.estimators",
    "HistGradientBoostingRegressor": "assay.families.boosting.estimators",
    "NeighborhoodComponentsAnalysis": "assay.families.neighbours.components",
    "KDTree": "assay.families.neighbours.nearest",
    "NearestNeighbors": "assay.families.neighbours.nearest",
    "cover_hart": "assay.assess.bayes_error",
    "margin": "assay.families.separability.separability",
    "separability": "assay.families.separability.separability",
    "surrogate": "assay.risk.custom_surrogate",
    "empirical_risk": "assay.risk",
    "rows": "assay.tables",
    "compare": "assay.selection.compare",
    "Comparison": "assay.selection.comparison",
    "Comparisons": "assay.selection.several_targets",
    "compare_targets": "assay.selection.several_targets",
    "Resampling": "assay.selection.splits",
    "TableModel": "assay.selection.table_model",
    "train": "assay.selection.training",
    "Schema": "assay.tables.schema.schema",
    "schema": "assay.tables.schema.survey",
}
_FOLDERS = ("assess", "notes", "plots", "report")


def _write_report(comparison: Any, path: Any, models: Any) -> None:
    from assay.report import write_report

    write_report(comparison, path, models)


def _plot_ranking(comparison: Any, ax: Any) -> Any:
    from assay.report.overview import ranking_axes

    return ranking_axes(comparison, ax).figure


_select.write_report = _write_report  # what `Comparison.report` calls
_select.plot_ranking = _plot_ranking  # what `Comparison.plot` calls


def __getattr__(name: str) -> Any:
    where = _ELSEWHERE.get(name)
    if name in _FOLDERS:
        return import_module(f"assay.{name}")
    if where is None and not name.startswith("_"):
        from assay.families import CLASS_NAMES, REGISTRY

        if name in CLASS_NAMES:
            where = REGISTRY[CLASS_NAMES[name]].split(":")[0]
    if where is None:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(where), name)  # from now on it is found without this
    return found


def __dir__() -> list[str]:
    from assay.families import CLASS_NAMES

    return sorted([*_ELSEWHERE, *_FOLDERS, *CLASS_NAMES, "__version__"])
