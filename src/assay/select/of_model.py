"""A saved model on a table, as a comparison of one: what `assay report MODEL DATA` writes about.

Where the table is the one of the fit and a part was held out, the model is judged on that part; else on all rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from assay.engines import engine_for
from assay.numerics import Array
from assay.select.comparison import Comparison, Entry
from assay.select.data import TableData
from assay.select.judge import judged
from assay.select.row_losses import Answers, row_losses
from assay.select.splits import Resampling, Split
from assay.select.table_model import TableModel, held_out_of
from assay.select.trial import Trial


def comparison_of(model: TableModel, data: Any, loss: str | None = None) -> Comparison:
    """The model judged on a table with its target."""
    began = time.monotonic()
    table = model.table(data, labelled=True)
    classes = getattr(model.model_, "classes_", None)
    found = TableData.of(model.schema_, engine_for(table).open(table), classes is not None)
    split = _split(model, table, len(found))
    name = loss or ("zero-one" if classes is not None else "squared")
    answers, train = (
        Answers.of(model.model_, found.encoded(model.encoding_, rows), found.classes)
        for rows in (split.test, split.train)
    )
    trial = Trial(
        setting=dict(model.model_._fitted_with),
        search=None,
        answers=answers,
        test_risk=float(row_losses(name, found, split.test, answers).mean()),
        train_risk=float(row_losses(name, found, split.train, train).mean()),
        train_rows=len(split.train),
        complexity=float(model.model_.complexity()),
        columns=len(model.encoding_.outputs),
    )
    changed = {k: v for k, v in trial.setting.items() if k != "n_jobs"}
    entry = Entry(model.name, "done", setting=changed, trials=[trial], model=model, answers=answers)
    entry.fold_risks, entry.complexity, entry.columns = np.array([trial.test_risk]), trial.complexity, trial.columns
    return judged(
        Comparison(
            data=found,
            where=table.source.where,
            task="regression" if classes is None else "classification",
            loss=name,
            resampling=Resampling("holdout"),
            splits=[split],
            tested=split.test,
            entries=[entry],
            left_out=[],
            recommended=None,
            best=None,
            bracket=None,
            worries=[],
            verdict=[],
            question={"data": table.source.where, "target": model.target, "loss": name},
            provenance={"notes": [*table.source.notes, *model.oddities(table.source)]},
        ),
        began,
    )


def _split(model: TableModel, table: Any, n: int) -> Split:
    """Rows of the fit and rows to judge on; another table than that of the fit is judged on whole."""
    everything: Array = np.arange(n)
    if n != model.schema_.n_rows:
        return Split(everything, everything)
    mask = held_out_of(model.model_._provenance.get("split"), table)
    return Split(everything, everything) if mask is None else Split(np.flatnonzero(~mask), np.flatnonzero(mask))
