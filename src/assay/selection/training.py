"""One model on one table: encoded by the model's needs, fitted on one side of a split, measured on the other, certified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assay.assess.measure import confusion, residuals
from assay.certify.claim import Claim
from assay.certify.held_out import held_out_error, held_out_loss
from assay.engines import Rows, engine_for
from assay.estimator.classifier import refuse_fewer_classes
from assay.estimator.estimator import Estimator
from assay.estimator.progress import INTERRUPTED, interrupts_raised
from assay.estimator.search_space import Categories, SearchSpace
from assay.selection.calibration_claim import calibrate_fit
from assay.selection.candidates import check_model, features_of
from assay.selection.data import TableData
from assay.selection.held_out_rows import held_out_rows
from assay.selection.loading import named_source
from assay.selection.plan import at_hand
from assay.selection.table_model import TableModel, fit_table, sides
from assay.tables.encoding import EncodingSpec
from assay.tables.schema.schema import Schema, infer
from assay.tables.sources.source import Source
from assay.tables.table_rows import TableRows

Scaling = Literal["auto", "on", "off"]


def train(
    data: Any,
    target: str,
    model: Estimator,
    *,
    holdout: float = 0.25,
    seed: int = 0,
    features: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    scaling: Scaling = "auto",
    categories: Categories | None = None,
    calibrate: bool = True,
    **opening: Any,
) -> TableModel:
    """Fit a model to a table as `assay train` does, and return it with its certificate.

    `data` is anything that holds a table. A share `holdout` of the rows is held out (0: none); the error on them goes into the certificate.
    `calibrate`: the probabilities of classes are made so that they say what they mean, of whatever classifier.
    """
    source = named_source(data, **opening)
    schema = infer(source, target=target, features=features, kinds=kinds)
    encoding_spec = encoding_spec_for(model, schema, scaling, categories)
    split, facts = {"fraction": holdout, "seed": seed}, {"target": target}
    return fit_and_measure(model, encoding_spec, source, schema, split, facts, calibrate)[0]


def encoding_spec_for(
    model: Estimator, schema: Schema, scaling: Scaling = "auto", categories: Categories | None = None
) -> EncodingSpec:
    """How a model needs such a table encoded; `scaling` other than "auto" overrides whether numbers are scaled."""
    kind = model.kind_of(model.get_params())
    search_space = model.search_space(kind, features_of(schema, 2 if kind == "classifier" else 0)) or SearchSpace()
    encoding_spec = EncodingSpec.of(type(model), search_space, kind, categories)
    return encoding_spec if scaling == "auto" else encoding_spec._replace(scaled=scaling == "on")


def fit_and_measure(
    model: Any,
    encoding_spec: EncodingSpec,
    source: Source,
    schema: Schema,
    split: Mapping[str, Any],
    facts: Mapping[str, Any],
    calibrate: bool = True,
) -> tuple[TableModel, dict[str, Any]]:
    """The fitted model of a table, and what was measured; `split` has "fraction" and "seed", `facts` "target" and perhaps "weight"."""
    assert schema.target is not None
    check_model(model, schema)
    text = schema.target.kind == "category" and not source.typed and not hasattr(model, "_values")
    table = TableRows(source, schema, facts["target"], facts.get("weight"), text_target=text)
    engine = engine_for(table, model.n_jobs)
    opened = engine.open(table)
    mask = held_out_rows(source, opened, split) if split["fraction"] else None
    fitted = fit_table(model, schema, encoding_spec, opened, mask, engine)
    if hasattr(model, "classes_"):
        refuse_fewer_classes(model.classes_)  # some models take one, but there is nothing to measure
    fit_rows, held_out = sides(opened, fitted.encoding_, mask)
    model.certify(fit_rows)
    if calibrate and hasattr(model, "classes_"):
        _calibrate(fitted, opened, source, dict(split) if split["fraction"] else None)
    if held_out is None:
        fitted.add_claims(**facts)
        return fitted, {"rows": schema.n_rows, "held_out": None}
    claim, n = held_out_claim(model, held_out, float(split["fraction"]), int(split["seed"]))
    fitted.add_claims(claim, split=dict(split), **facts)
    low, high = claim.witness["interval"].tolist()
    measured = {"claim": claim.name, "value": claim.value, "interval": [low, high], "confidence": 0.95, "rows": n}
    return fitted, {"rows": schema.n_rows, "held_out": {**measured, **split}}


def _calibrate(fitted: TableModel, opened: Rows, source: Source, split: dict[str, Any] | None) -> None:
    """Calibrate a fitted model. Ctrl-C leaves one that can be ended without, and it says so: the fit itself is done."""
    table = TableData.of(fitted.schema_, at_hand(opened, fitted.schema_), True)
    try:
        with interrupts_raised():
            calibrate_fit(fitted, table, source, split)
    except KeyboardInterrupt:
        if not hasattr(fitted.model_, "max_seconds"):
            raise
        fitted.add_claims(ended=INTERRUPTED)


def held_out_claim(model: Estimator, rows: Rows, fraction: float, seed: int) -> tuple[Claim, int]:
    """The error on rows that the fit never saw as a claim with its interval, and how many rows they are."""
    if hasattr(model, "classes_"):
        counts = confusion(model, rows)
        return held_out_error(counts.errors, counts.n, fraction=fraction, seed=seed), counts.n
    sums = residuals(model, rows)
    return held_out_loss(sums.loss, sums.standard_error, sums.n, fraction=fraction, seed=seed), sums.n
