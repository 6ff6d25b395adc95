"""A model ready to answer: its columns, its outputs, its certificate, and how numbers or tables become its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from assay.engines import ArrayRows, Rows, SparseRows
from assay.engines.csr import SparseMatrix
from assay.numerics import Array
from assay.selection.loading import load
from assay.server.answers import Answer, RequestedOutputs, answers, check_outputs, possible_outputs
from assay.server.decoding import DATATYPES, MOST_UNNAMED, RowDecoder, expected_columns, given_names
from assay.server.schemas import CertificateAnswer, ClaimAnswer, ModelMetadata, TensorMetadata

SHOWN_LEVELS = 100
LABELS = {"i": "INT64", "u": "UINT64", "b": "BOOL", "f": "FP64"}


class ServedModel:
    """One version of one model. It never changes: a replaced file makes another."""

    def __init__(self, name: str, version: str, path: Path) -> None:
        self.name, self.version, self.path = name, version, path
        with path.open("rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        self.model = load(path)
        self.encoding = getattr(self.model, "encoding_", None)
        self.learner = self.model if self.encoding is None else self.model.learner
        self.columns = expected_columns(self.model, max(MOST_UNNAMED, path.stat().st_size))
        self.read_json = RowDecoder(self.columns)
        self.outputs = possible_outputs(self.learner)
        self.usual = RequestedOutputs(self.outputs[:1])
        self.classes: list[Any] = self.learner.classes_.tolist() if hasattr(self.learner, "classes_") else []
        self.seconds = 0.0  # that a small request takes, a running mean
        self._names = given_names(self.model) if self.encoding is None else self.encoding.names
        self._levels = self.learner.categories_

    def warm(self) -> None:
        """Answer a row of nothing, so that the first request finds everything loaded; what it says does not matter."""
        import numpy as np

        try:
            list(self.answers(self.rows(np.zeros((1, len(self.columns)))), self.usual))
        except Exception:  # a model may refuse such a row
            return

    # --- answering ----------------------------------------------------------------------------------------------------

    def rows(self, X: Array) -> Rows:
        """Numbers in the order of the columns as the rows of the model."""
        Z = X if self.encoding is None else self.encoding(X)
        if isinstance(Z, SparseMatrix):
            return SparseRows(Z, names=self._names)
        return ArrayRows(Z, names=self._names, categories=self._levels)

    def table_rows(self, source: Any) -> Rows:
        """A table of any kind as the rows of the model."""
        if self.encoding is not None:
            return self.model.rows(source)  # type: ignore[no-any-return]
        from assay.tables import rows
        from assay.tables.sources.source import check_known

        found = rows(source)
        check_known([c.name for c in self.columns], found.source.types, "the model needs it", found.source.where)
        return rows(source, features=[c.name for c in self.columns]).fitted_to(self._names, self._levels)

    def answers(self, rows: Rows, wanted: RequestedOutputs) -> Iterator[Answer]:
        """The outputs that are wanted, block by block."""
        if wanted is not self.usual:
            check_outputs(wanted, self.outputs)
        return answers(self.learner, rows, wanted)

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def target(self) -> str | None:
        found: str | None = self.learner.provenance_.get("target")
        return found if found is not None or self.encoding is None else self.model.target

    def datatype(self, output: str) -> Any:
        """The datatype of an output."""
        if output == "label":
            return LABELS.get(self.learner.classes_.dtype.kind, "BYTES")
        return {"abstained": "BOOL", "neighbours": "INT64"}.get(output, "FP64")

    def metadata(self, versions: list[str]) -> ModelMetadata:
        """The model's metadata by the Open Inference Protocol."""
        K = len(self.classes)
        shapes = {"probabilities": [-1, K], "decision": [-1] if K <= 2 else [-1, K]}
        shapes |= {"neighbours": [-1, -1], "distances": [-1, -1]}
        inputs = [
            TensorMetadata(
                name=c.name,
                datatype=DATATYPES[c.kind],  # type: ignore[arg-type]
                shape=[-1],
                parameters={"kind": c.kind, **({"levels": list(c.levels[:SHOWN_LEVELS])} if c.levels else {})},
            )
            for c in self.columns
        ]
        outputs = [TensorMetadata(name=o, datatype=self.datatype(o), shape=shapes.get(o, [-1])) for o in self.outputs]
        parameters = {"model": self.learner.name, "target": self.target, "classes": self.classes, "sha256": self.sha256}
        return ModelMetadata(
            name=self.name, versions=versions, platform="assay", inputs=inputs, outputs=outputs, parameters=parameters
        )

    @cached_property
    def certificate(self) -> bytes:
        """The certificate as JSON."""
        found = self.model.certificate_
        claims = [
            ClaimAnswer(name=c.name, kind=c.kind, holds=c.holds, value=c.value, bound=c.bound, statement=c.statement)
            for c in found.claims
        ]
        whole = CertificateAnswer(
            name=self.name,
            version=self.version,
            model=self.learner.name,
            target=self.target,
            fingerprint=self.learner.provenance_.get("fingerprint"),
            sha256=self.sha256,
            holds=found.holds,
            claims=claims,
        )
        return msgspec.json.encode(whole)
