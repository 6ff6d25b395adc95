"""Claims about a model of a table beyond those of the model itself: its encoding, and its cross-validated error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.certify.certificate import UNUSABLE
from assay.certify.claim import Verdict
from assay.certify.compare import differs_in
from assay.engines import Engine, Rows
from assay.tables.description.kinds import USED
from assay.tables.description.schema import Schema, infer
from assay.tables.encoding import Encoding
from assay.tables.encoding.expand import MISSING
from assay.tables.sources.source import Source

if TYPE_CHECKING:
    from assay.select.table_model import TableModel

TABLE_CHECKS = ("encoding", "cross_validated")
TOLERANCE = 1e-9
DESCRIBED = ("kind", "missing", "distinct", "about", "levels", "counts", "low", "high", "whole", "with_time", "words")


def encoding_claim(encoding: Encoding) -> Claim:
    """The statistics of the encoding are those of the rows of the fit."""
    s = encoding.statistics
    return Claim(
        name="encoding",
        statement=(
            f"means, deviations and category counts of the encoding are those of the {s.n} rows of the fit: nothing of the rows "
            f"held out went into it; within {TOLERANCE:.0e} of a deviation; the schema is that of the whole table"
        ),
        holds=True,
        check="encoding",
        value=None,
        bound=None,
        kind="proof",
        witness={"rows": s.n},
    )


def table_verdicts(
    model: TableModel, claims: tuple[Claim, ...], engine: Engine, raw: Rows, source: Source
) -> list[Verdict]:
    """Re-check the claims about the table itself: `raw` are the rows of the fit, `source` holds the whole table."""
    verdicts = []
    for claim in claims:
        try:
            with np.errstate(all="ignore"):
                holds, reason = _CHECKS[claim.check](model, claim, engine, raw, source)
        except UNUSABLE as error:
            holds, reason = False, f"the claim cannot be checked: {error}"
        verdicts.append(Verdict(claim.name, holds, reason, kind=claim.kind))
    if not any(claim.check == "encoding" for claim in claims):
        verdicts.append(Verdict("encoding", False, "the claim is missing", kind="proof"))
    return verdicts


def _check_encoding(model: TableModel, claim: Claim, engine: Engine, raw: Rows, source: Source) -> tuple[bool, str]:
    due = encoding_claim(model.encoding_)
    part = differs_in(claim, due)
    if part is not None:
        return False, f"the {part} is not the one that follows from the model"
    wrong = _schema_is_wrong(model.schema_, source)
    if wrong is not None:
        return False, wrong
    s = model.encoding_.statistics
    n, total, count, levels, documents = _sums(model.encoding_, raw)
    if n != s.n or not np.array_equal(count, s.present):
        return False, f"the rows are {n}, the encoding was learnt from {s.n}; or values are missing elsewhere"
    if not all(np.array_equal(a, b) for a, b in zip(levels, s.levels)) or not np.array_equal(documents, s.documents):
        return False, "the categories or words are not as frequent as the encoding says"
    mean = total / np.maximum(count, 1)
    m2 = _scatter(model.encoding_, raw, mean)
    scale = np.sqrt(m2 / np.maximum(count, 1)) + TOLERANCE * np.abs(mean)
    off = np.max(np.abs(mean - s.mean) / np.where(scale > 0, scale, 1.0), initial=0.0)
    spread = np.max(np.abs(m2 - s.m2) / np.where(m2 > 0, m2, 1.0), initial=0.0)
    return bool(
        off <= TOLERANCE and spread <= 1e-6
    ), f"counted again from {n} rows in two passes; means agree within {off:.1e} deviations"


def _schema_is_wrong(schema: Schema, source: Source) -> str | None:
    """In what the stored schema does not describe the table, looked at once more; None where it does."""
    there = [c for c in schema.columns if c.name in source.types and c.kind != "ignored"]
    target = schema.target if schema.target is not None and schema.target.name in source.types else None
    kinds = {c.name: c.kind for c in schema.used} | (
        {target.name: target.kind} if target and target.kind in USED else {}
    )
    found = infer(
        source,
        target=target.name if target else None,
        features=[c.name for c in there],
        kinds=kinds,
        **{role: name for role, name in schema.roles.items() if name in source.types},
    )
    if found.n_rows != schema.n_rows:
        return f"the schema is that of {schema.n_rows} rows, the table has {found.n_rows}"
    for column in (*schema.used, *([target] if target else [])):
        for part in DESCRIBED:
            stated = getattr(column, part)
            if part == "words" and stated is None:  # columns are then called by number
                continue
            if stated != getattr(found[column.name], part):
                return f"the schema's {part} of the column {column.name!r} is not that of the table"
    return None


def _sums(encoding: Encoding, raw: Rows) -> tuple[int, Any, Any, list[Any], Any]:
    """Rows, sums and counts of the numbers, and how often categories and words occur: added up plainly, block by block."""
    n = 0
    total: Any = 0.0
    count: Any = 0
    documents: Any = 0
    levels: list[Any] = [0] * len(encoding.groups.categories)
    for part in raw.blocks():
        found = encoding.groups.expand(part.load().X)
        N = found.numbers.astype(np.longdouble)
        n += len(N)
        total = total + np.nansum(N, axis=0)
        count = count + (~np.isnan(N)).sum(axis=0)
        for k, (codes, column) in enumerate(zip(found.codes.T, encoding.groups.categories)):
            width = len(column.levels or ())
            places = np.where(codes >= 0, codes, np.where(codes == MISSING, width + 1, width))
            levels[k] = levels[k] + np.bincount(places, minlength=width + 2)
        if found.words is not None:
            documents = documents + np.bincount(found.words.indices, minlength=found.words.n_columns)
    return n, total, count, levels, documents if np.ndim(documents) else np.zeros(0, np.int64)


def _scatter(encoding: Encoding, raw: Rows, mean: Any) -> Any:
    m2: Any = 0.0
    for part in raw.blocks():
        N = encoding.groups.expand(part.load().X).numbers.astype(np.longdouble)
        m2 = m2 + np.nansum((N - mean) ** 2, axis=0)
    return m2


def _check_cross_validated(
    model: TableModel, claim: Claim, engine: Engine, raw: Rows, source: Source
) -> tuple[bool, str]:
    from assay.select.cross_validated import recount

    return recount(model, claim, engine, raw)


_CHECKS = {"encoding": _check_encoding, "cross_validated": _check_cross_validated}
