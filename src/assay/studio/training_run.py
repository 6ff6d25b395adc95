"""A model on a dataset: its rows as the model sees them, the fit, the steps on the way, and how wrong each state is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.engines import Rows
from assay.engines.derived import held_out_mask
from assay.engines.engine import Threads
from assay.errors import AssayError
from assay.estimator.estimator import Estimator
from assay.estimator.steps import Step
from assay.numerics import Array
from assay.selection.table_model import TableModel, fit_table, sides
from assay.selection.training import encoding_spec_for, held_out_claim
from assay.studio.dataset import PlottedDataset, plotted_dataset
from assay.studio.forms import made
from assay.studio.grid import codes_in
from assay.studio.requests import TableLocation
from assay.tables.encoding import Encoding, EncodingSpec

HELD_OUT, SEED = 0.25, 0  # the share and the seed that `assay train` holds rows out by
FEWEST = 20  # rows of which some are held out


@dataclass(frozen=True)
class TrainingRun:
    """What is to be learnt by which model."""

    dataset: PlottedDataset
    name: str
    params: Mapping[str, Any]

    @classmethod
    def of(cls, data: Any, place: TableLocation | None, name: str, params: Mapping[str, Any]) -> TrainingRun:
        """The run that a request describes; the model says whether the target is classes or numbers."""
        model = made(name, params)
        kind = model.kind_of(model.get_params())
        task = "classification" if kind == "classifier" else "regression"
        dataset = plotted_dataset(data, place, task)
        if (dataset.classes is None) != (task == "regression"):
            wanted, there = ("numbers", "classes") if task == "regression" else ("classes", "numbers")
            raise _wrong_kind(name, wanted, there)
        return cls(dataset, name, params)

    def model(self) -> Estimator:
        """A model with the hyper-parameters asked for, not fitted."""
        return made(self.name, self.params)

    @cached_property
    def encoding_spec(self) -> EncodingSpec:
        return encoding_spec_for(self.model(), self.dataset.schema, self.dataset.scaling)  # type: ignore[arg-type]

    @cached_property
    def encoding(self) -> Encoding:
        return Encoding.learn(Threads(), self.dataset.schema, self.encoding_spec, self.dataset.table.rows)

    @cached_property
    def rows(self) -> Rows:
        """All rows of the table, encoded."""
        return sides(self.dataset.table.rows, self.encoding, None)[0]

    def fitted(self) -> TableModel:
        """The model fitted on all rows."""
        fitted = fit_table(self.model(), self.dataset.schema, self.encoding_spec, self.dataset.table.rows)
        fitted.add_claims(target=self.dataset.target)
        return fitted

    def steps(self) -> Iterator[Step]:
        """The states of a fit."""
        model: Any = self.model()
        found: Iterator[Step] = model.steps(self.rows)
        return found

    def at(self, step: Step) -> TableModel | None:
        """The model that answers as a state would; None: it cannot answer yet."""
        found = self.model().at(step)
        return None if found is None else TableModel(found, self.encoding)

    @property
    def total(self) -> int | None:
        """How many steps there will be, where that is known."""
        return self.model().n_steps(len(self.dataset.table))

    @property
    def last(self) -> int | None:
        """The number of the last step of the algorithm, if it is known: behind the epochs of a network comes the fitted model."""
        return self.total - 1 if self.total is not None and self.word == "epoch" else self.total

    @property
    def word(self) -> str:
        return self.model().step_word_of(self.model().get_params())

    def answers(self, model: TableModel) -> Array:
        """A model's answers for all rows: codes of the dataset's classes, or numbers."""
        found = np.asarray(model.model_.predict(self.rows)).ravel()
        if self.dataset.classes is None:
            return found.astype(np.float64)
        return codes_in(model.classes_, self.dataset)[np.searchsorted(model.classes_, found)]

    def training_risk(self, answers: Array) -> float:
        """The share of rows answered wrongly, or the mean squared error."""
        truth = self.dataset.table.codes
        return float(np.mean(answers != truth) if self.dataset.classes is not None else np.mean((answers - truth) ** 2))

    @property
    def loss(self) -> str:
        return "squared" if self.dataset.classes is None else "zero-one"

    def held_out(self) -> tuple[dict[str, Any] | None, str]:
        """The risk on rows that a second fit did not see, the same rows for every model; else why there is none."""
        n = len(self.dataset.table)
        if n < FEWEST:
            return None, f"Nothing was held out of {n} rows: from {FEWEST} on a quarter is."
        mask = held_out_mask(0, n, HELD_OUT, SEED)
        try:
            with warnings.catch_warnings(action="ignore"):  # the fit on all rows has said what there is to say
                model = self.model()
                fitted = fit_table(model, self.dataset.schema, self.encoding_spec, self.dataset.table.rows, mask)
                unseen = sides(self.dataset.table.rows, fitted.encoding_, mask)[1]
                assert unseen is not None
                claim, rows = held_out_claim(model, unseen, HELD_OUT, SEED)
        except AssayError as error:
            return None, f"No risk on held-out rows: {error}"
        low, high = claim.witness["interval"].tolist()
        how = f"the same model fitted on the other {n - rows} rows; {claim.statement}"
        return {"value": claim.value, "low": low, "high": high, "rows": rows, "how": how}, ""


def _wrong_kind(name: str, wanted: str, there: str) -> AssayError:
    from assay.errors import DataError

    return DataError(
        f"{name} learns {wanted}, and the target here is {there}: choose another model, or another target."
    )
