"""A model of a table: a fitted model with the encoding that turns a table's columns into its numbers.

It answers tables (files, frames, databases) as they are, holds them to the schema of its fit, and saves as one file, which `selection.loading.load` reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np

from assay import store
from assay.certify import Certificate, Claim
from assay.certify.certificate import Verdicts
from assay.certify.claim import Covers
from assay.engines import Engine, MaskedRows, Rows, engine_for, some_rows
from assay.errors import DataError, ModelFileError
from assay.estimator.estimator import Estimator
from assay.estimator.layout import claim_data
from assay.estimator.params import notebook_html
from assay.numerics import Array
from assay.selection.calibration import Calibration, with_calibration
from assay.selection.calibration_claim import CALIBRATION
from assay.selection.held_out_rows import held_out_rows, rows_of_fit
from assay.selection.loading import named_source
from assay.selection.table_claims import TABLE_CHECKS, encoding_claim, table_verdicts
from assay.store import Record
from assay.tables.encoding import Encoding, EncodingSpec, from_data, to_data
from assay.tables.schema.compatible import check_columns, check_same
from assay.tables.schema.schema import Schema
from assay.tables.sources.source import check_known
from assay.tables.table_rows import EncodedRows, TableRows, encode, encode_some
from assay.tables.written.source import read_like

ANSWERS = ("predict_proba", "predict_log_proba", "decision_function", "predict_proba_blocks", "predict_both_blocks")


class TableModel:
    """A fitted model that takes tables.

    `model_` is the model itself, whose columns are those of `encoding_.names`; `schema_` is what the table of the fit held;
    `calibration_` is what its probabilities are made by (`model_` alone answers with its own, where it has any).
    """

    def __init__(
        self,
        model: Estimator,
        encoding: Encoding,
        claims: tuple[Claim, ...] = (),
        calibration: Calibration | None = None,
    ) -> None:
        self.model_, self.encoding_, self.calibration_ = model, encoding, calibration
        self._claims = claims

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.model_.name

    @property
    def learner(self) -> Any:
        """The model for encoded rows, with calibrated probabilities."""
        return with_calibration(self.model_, self.calibration_)

    @property
    def schema_(self) -> Schema:
        return self.encoding_.schema

    @property
    def feature_names_in_(self) -> Array:
        """The columns of the table that it learns from."""
        return np.array([c.name for c in self.schema_.used], dtype=object)

    @property
    def n_features_in_(self) -> int:
        return len(self.schema_.used)

    @property
    def target(self) -> str | None:
        target: str | None = self.model_.provenance_.get("target")
        return target if target is not None or self.schema_.target is None else self.schema_.target.name

    def __getattr__(self, name: str) -> Any:
        """What was learnt (`classes_`, `coef_`, …) and what the model can do beyond `predict` are the model's."""
        if name.startswith("__") or name in ("model_", "encoding_", "calibration_"):
            raise AttributeError(name)
        if name in ANSWERS:
            method = getattr(self.learner, name)
            return lambda data: method(self.rows(data))
        if name == "shap_values":
            explain = getattr(self.model_, name)
            return lambda X, data=None: explain(self.rows(X), None if data is None else self.rows(data))
        return getattr(self.model_, name)

    def __repr__(self) -> str:
        return f"TableModel({self.model_!r}, {self.n_features_in_} columns → {self.target or 'target'})"

    _repr_html_ = notebook_html

    # --- answering ----------------------------------------------------------------------------------------------------

    def rows(self, data: Any, y: Any = None, sample_weight: Any = None, *, labelled: bool = False) -> EncodedRows:
        """The rows of a table, held to the schema and encoded; `labelled`: with the target and the weights of the fit."""
        if isinstance(data, EncodedRows):
            return data
        table = self.table(data, y, sample_weight, labelled=labelled)
        return EncodedRows(table, self.encoding_)

    def table(self, data: Any, y: Any = None, sample_weight: Any = None, *, labelled: bool = False) -> TableRows:
        """The rows of a table, held to the schema, not yet encoded."""
        if isinstance(data, EncodedRows):
            return data.table
        if isinstance(data, TableRows):
            return data
        target, weight = self.target or "target", self.schema_.roles.get("weight")
        names = [c.name for c in self.schema_.columns]
        given = {target: y, weight or "weight": sample_weight}
        source = read_like(self.schema_, named_source(data, names=names, extra=given, as_written=False))
        check_columns(self.schema_, source)
        if labelled:
            check_known([target], source.types, "the target", source.where)
            check_known([weight] if weight else [], source.types, "the weight", source.where)
        rows = TableRows(source, self.schema_, target if labelled else None, weight if labelled else None)
        classes = getattr(self.model_, "classes_", None)
        return rows.labelled_like(classes) if labelled and classes is not None else rows

    def oddities(self, data: Any) -> list[str]:
        """What is odd about a table for this model: categories it never saw, missing values, numbers out of range. Takes a pass."""
        names = [c.name for c in self.schema_.columns]
        return check_same(self.schema_, read_like(self.schema_, named_source(data, names=names, as_written=False)))

    def predict(self, data: Any) -> Array:
        """The predicted target of each row of a table."""
        return self.model_.predict(self.rows(data))

    def predict_blocks(self, data: Any) -> Iterator[Array]:
        """`predict` for tables of any size, block by block."""
        return self.model_.predict_blocks(self.rows(data))

    def score(self, data: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows predicted rightly, or R² of numbers."""
        return float(self.model_.score(self.rows(data, y, sample_weight, labelled=True)))  # type: ignore[attr-defined]

    # --- certificate and file -----------------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """What is proved about this fit, the encoding included; `verify(table)` re-checks it."""
        inner = self.model_.certificate_
        claims = (*inner.claims, *self._claims)
        return replace(inner, claims=claims, verifier=self._verify, covering=self._covered_by)

    def _covered_by(self, claims: tuple[Claim, ...]) -> Covers:
        """What the claims cover of the model, of its encoding and of its calibration."""
        covers, made = self.model_.certificate_.covers, {claim.check for claim in claims if claim.holds}
        parts = (
            [("encoding", "proof")] if self.calibration_ is None else [("encoding", "proof"), (CALIBRATION, "estimate")]
        )
        for name, kind in parts:
            kind = kind if name in made else "nothing"
            covers = covers._replace(**{kind: (*getattr(covers, kind), name)})  # type: ignore[arg-type]
        return covers

    def _verify(self, data: Any, y: Any = None, sample_weight: Any = None) -> Verdicts:
        table = self.table(data, y, sample_weight, labelled=True)
        engine = engine_for(table, self.model_.n_jobs)
        opened = engine.open(table)
        mask = held_out_of(self.model_.provenance_.get("split"), table)
        train, held_out = sides(opened, self.encoding_, mask)
        inner = self.model_.certificate_.verdicts(train, held_out)
        raw = training_rows(opened, mask)
        own = table_verdicts(self, self._claims, raw, table.source, opened)
        return Verdicts((*inner.verdicts, *own), inner.notes)

    def certify(self, data: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Add the claims that are too dear for every fit."""
        table = self.table(data, y, sample_weight, labelled=True)
        mask = held_out_of(self.model_.provenance_.get("split"), table)
        self.model_.certify(sides(engine_for(table).open(table), self.encoding_, mask)[0])
        return self.certificate_

    def add_claims(self, *claims: Claim, **provenance: Any) -> None:
        """Put further claims and facts into the certificate."""
        self._claims = (*self._claims, *(c for c in claims if c.check in TABLE_CHECKS))
        self.model_.add_claims(*(c for c in claims if c.check not in TABLE_CHECKS), **provenance)

    def to_record(self) -> Record:
        """The model and its encoding as plain data."""
        record = self.model_.to_record()
        claims = [*record.claims, *(claim_data(c) for c in self._claims)]
        calibration = {} if self.calibration_ is None else {CALIBRATION: self.calibration_.to_data()}
        return replace(record, claims=claims, encoding={**to_data(self.encoding_), **calibration})

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """From plain data that has not been trusted yet."""
        from assay.families import model_of_record

        stored = dict(record.encoding or {})
        calibration = stored.pop(CALIBRATION, None)
        encoding = from_data(stored)
        own = tuple(Claim(**c) for c in record.claims if c["check"] in TABLE_CHECKS)
        inner = replace(record, claims=[c for c in record.claims if c["check"] not in TABLE_CHECKS], encoding=None)
        model = model_of_record(inner)
        if record.names is None or tuple(record.names) != encoding.names or model.categories_ != encoding.categories:
            raise ModelFileError("The model file's encoding does not lead to the columns of its model.")
        if encoding.encoding_spec.missing > model.takes_missing or encoding.encoding_spec.sparse > model.takes_sparse:
            raise ModelFileError("The model file's encoding leaves to its model what that model cannot take.")
        split = record.provenance.get("split") or {}
        if not all(isinstance(split.get(role, ""), str) for role in ("group", "time")):
            raise ModelFileError("The model file's split names columns that are no names.")
        if type(split.get("sample", 1)) is not int or split.get("sample", 1) < 1:
            raise ModelFileError("The model file's split learns from a number of rows that is none.")
        return cls(model, encoding, own, _calibration(calibration, model))

    def save(self, path: Any) -> None:
        """Write model and encoding to one file (by custom `*.assay`): data only, no code."""
        store.write(self.to_record(), path)


def _calibration(data: Any, model: Estimator) -> Calibration | None:
    """What a file says of it, held to the model's classes."""
    if data is None:
        return None
    if not hasattr(model, "label_scores") or not hasattr(model, "classes_"):
        raise ModelFileError("The model file has a calibration, but its model has no classes.")
    return Calibration.from_data(data, len(model.classes_))


def fit_table(
    model: Estimator,
    schema: Schema,
    encoding_spec: EncodingSpec,
    table: Rows,
    mask: Array | None = None,
    engine: Engine | None = None,
) -> TableModel:
    """Learn encoding and model from the rows of a table that the mask does not hold out."""
    if mask is not None and mask.all():
        raise DataError(f"All {len(mask)} rows are held out, so none is left to fit on: hold out a smaller share.")
    engine = engine or engine_for(table, model.n_jobs)
    opened = engine.open(table)
    encoding = Encoding.learn(engine, schema, encoding_spec, training_rows(opened, mask))
    if not encoding.outputs:
        raise DataError(
            "No column is left to learn from: all are ids, constants or set aside (assay schema shows why)."
        )
    train, _ = sides(opened, encoding, mask)
    model.fit(train)  # type: ignore[attr-defined]
    return TableModel(model, encoding, (encoding_claim(encoding),))


def sides(opened: Rows, encoding: Encoding, mask: Array | None) -> tuple[Rows, Rows | None]:
    """The encoded rows of a fit and those held out (where the mask is true); rows of weight 0 are in neither."""
    train, held_out = rows_of_fit(opened, mask)
    fit = _encoded(opened, encoding, train, of_fit=True)
    return fit, None if held_out is None else _encoded(opened, encoding, held_out, of_fit=False)


def _encoded(opened: Rows, encoding: Encoding, mask: Array | None, of_fit: bool) -> Rows:
    if mask is None:
        return encode(opened, encoding, of_fit)  # type: ignore[no-any-return]
    return encode_some(opened, encoding, mask, of_fit)


def training_rows(opened: Rows, mask: Array | None) -> Rows:
    """The rows of a fit, not encoded."""
    train, _ = rows_of_fit(opened, mask)
    return opened if train is None else some_rows(opened, MaskedRows(train))


def held_out_of(split: Any, table: TableRows) -> Array | None:
    """True for the rows that a split of the table holds out; None where nothing was held out."""
    if split is None:
        return None
    return held_out_rows(table.source, table, split)
