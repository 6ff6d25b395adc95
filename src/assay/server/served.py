"""A model ready to answer: its columns, its outputs, its certificate, and how numbers or tables become its rows."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.engines import ArrayRows, Rows, SparseRows
from assay.engines.csr import SparseMatrix
from assay.errors import AssayError, ModelFileError, nearest
from assay.http.replies import Refusal
from assay.numerics import Array
from assay.selection.loading import load
from assay.server.decoding import DATATYPES, MOST_UNNAMED, RowDecoder, expected_columns, given_names
from assay.server.schemas import CertificateAnswer, ClaimAnswer, ModelMetadata, TensorMetadata

Answer = dict[str, Array]
KNOWN = ("label", "value", "probabilities", "decision", "abstained", "neighbours", "distances")
SHOWN_LEVELS = 100
LABELS = {"i": "INT64", "u": "UINT64", "b": "BOOL", "f": "FP64"}
ENDING = ".assay"
FileStamp = tuple[int, int, int]
Key = tuple[str, str]


@dataclass(frozen=True)
class RequestedOutputs:
    """Which outputs are asked for, in their order; `threshold`: abstain where no class is as probable."""

    outputs: tuple[str, ...]
    threshold: float | None = None
    n_neighbors: int | None = None

    @property
    def plain(self) -> bool:
        """Whether a single pass over the rows gives it all, block by block."""
        return not {"decision", "neighbours", "distances"} & set(self.outputs)

    @property
    def only_first(self) -> bool:
        return self.outputs in (("label",), ("value",)) and self.threshold is None


def possible_outputs(model: Any) -> tuple[str, ...]:
    """The outputs that a model can give; the first is the usual one."""
    found = ["label" if hasattr(model, "classes_") else "value"]
    if hasattr(model, "predict_proba"):
        found += ["probabilities", "abstained"]
    if hasattr(model, "decision_function"):
        found.append("decision")
    if hasattr(model, "kneighbors"):
        found += ["neighbours", "distances"]
    return tuple(found)


def check_outputs(wanted: RequestedOutputs, possible: tuple[str, ...]) -> None:
    """Raise for an output that the model does not give, or for a parameter without effect."""
    if wanted.threshold is not None and "probabilities" not in possible:
        raise Refusal(400, "A threshold needs probabilities, which this model does not give: leave out the threshold.")
    for name in wanted.outputs:
        if name not in possible:
            raise Refusal(400, f"The model gives no output {name!r}. It gives: {', '.join(possible)}.")
    if wanted.threshold is None and "abstained" in wanted.outputs:
        raise Refusal(400, "The output 'abstained' needs the parameter threshold, such as 0.9.")
    if wanted.n_neighbors is not None and not {"neighbours", "distances"} & set(wanted.outputs):
        raise Refusal(
            400,
            "n_neighbors says how many neighbours are listed: ask for the output neighbours or distances, or leave it out.",
        )


def answers(model: Any, rows: Rows, wanted: RequestedOutputs) -> Iterator[Answer]:
    """The outputs block by block; `model` is the learner, and the rows are those that it takes."""
    if wanted.only_first:
        name = wanted.outputs[0]
        for labels in model.predict_blocks(rows):
            yield {name: labels}
        return
    if not wanted.plain:
        yield _all_at_once(model, rows, wanted)
        return
    for labels, P in model.predict_both_blocks(rows):
        yield _chosen({"label": labels, "probabilities": P}, wanted)


def _all_at_once(model: Any, rows: Rows, wanted: RequestedOutputs) -> Answer:
    at_hand = rows.in_memory() if rows.home == "stream" else rows
    found: Answer = {}
    asked = set(wanted.outputs)
    if wanted.threshold is not None or "probabilities" in asked:
        found["probabilities"] = model.predict_proba(at_hand)
    if asked & {"label", "value"}:
        found[wanted_name(asked)] = model.predict(at_hand)
    if "decision" in asked:
        found["decision"] = model.decision_function(at_hand)
    if asked & {"neighbours", "distances"}:
        found["distances"], found["neighbours"] = model.kneighbors(at_hand, wanted.n_neighbors)
    return _chosen(found, wanted)


def wanted_name(asked: set[str]) -> str:
    return "label" if "label" in asked else "value"


def _chosen(found: Answer, wanted: RequestedOutputs) -> Answer:
    if wanted.threshold is not None:
        abstained = found["probabilities"].max(axis=1) < wanted.threshold
        found["abstained"] = abstained
        if "label" in found and abstained.any():
            found["label"] = np.ma.array(found["label"], mask=abstained)
    return {name: found[name] for name in wanted.outputs}


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


class Catalogue:
    """The models by name and version."""

    def __init__(self, path: Path, emit: Callable[..., None] = lambda *_, **__: None) -> None:
        self._path, self._emit = path, emit
        self._models: dict[str, dict[str, ServedModel]] = {}  # the latest version last
        self._stamps: dict[Key, FileStamp] = {}
        try:
            found = self._files()
        except OSError as error:
            raise ModelFileError(f"{str(path)!r} cannot be read ({(error.strerror or str(error)).lower()}).") from None
        if not found:
            raise ModelFileError(
                f"{str(path)!r} holds no model: a folder to serve has files such as churn{ENDING} (assay train … --out churn{ENDING})."
            )
        for key, file in found.items():
            self._stamps[key] = stamp_of(file)
            self._put(key, ServedModel(*key, file))

    # --- asking -------------------------------------------------------------------------------------------------------

    def find(self, name: str | None, version: str | None = None) -> ServedModel:
        """The model of this name; without one, the only model."""
        models = self._models
        if name is None:
            if len(models) != 1:
                raise Refusal(404, f"There are {len(models)} models: name one, /models/NAME/…. {nearest('', models)}")
            name = next(iter(models))
        versions = models.get(name)
        if versions is None:
            raise Refusal(404, f"There is no model {name[:100]!r}. {nearest(name[:100], models)}")
        if version is None:
            return next(reversed(versions.values()))
        if version not in versions:
            raise Refusal(
                404, f"The model {name!r} has no version {version[:100]!r}. {nearest(version[:100], versions)}"
            )
        return versions[version]

    def names(self) -> list[str]:
        return sorted(self._models)

    def versions(self, name: str) -> list[str]:
        return list(self._models.get(name, ()))

    # --- watching -----------------------------------------------------------------------------------------------------

    def changed(self) -> dict[Key, Path | None]:
        """Files that are new or replaced, and those that are gone (None)."""
        files = self._files()
        found: dict[Key, Path | None] = {}
        for key, file in files.items():
            try:
                stamp = stamp_of(file)
            except OSError:  # gone in this very moment
                continue
            if self._stamps.get(key) != stamp:
                self._stamps[key] = stamp  # also where it cannot be loaded: it is tried again when it changes again
                found[key] = file
        if self._path.is_dir():
            found |= {key: None for key in self._keys() if key not in files}
        return found

    def load(self, key: Key, file: Path) -> ServedModel | None:
        """A changed file as a model that has answered once; None where it cannot be loaded, which is told."""
        try:
            served = ServedModel(*key, file)
        except Exception as error:  # whatever it is, the files after it are loaded
            why = str(error).strip() if isinstance(error, AssayError | OSError) else f"{type(error).__name__}: {error}"
            self._emit("model not loaded", model=key[0], version=key[1], error=why)
            return None
        served.warm()
        return served

    def put(self, key: Key, served: ServedModel | None) -> None:
        """A model into its place, or out of it."""
        if served is not None:
            self._put(key, served)
            self._emit("model loaded", model=key[0], version=key[1], sha256=served.sha256)
            return
        rest = {v: s for v, s in self._models.get(key[0], {}).items() if v != key[1]}
        self._models = {**{n: v for n, v in self._models.items() if n != key[0]}, **({key[0]: rest} if rest else {})}
        self._stamps.pop(key, None)
        self._emit("model removed", model=key[0], version=key[1])

    def _put(self, key: Key, served: ServedModel) -> None:
        name, version = key
        versions = {**self._models.get(name, {}), version: served}
        self._models = {**self._models, name: {v: versions[v] for v in sorted(versions, key=_order)}}

    def _keys(self) -> list[Key]:
        return [(name, version) for name, versions in self._models.items() for version in versions]

    def _files(self) -> dict[Key, Path]:
        path = self._path
        if not path.is_dir():
            return {(path.name.removesuffix(ENDING), "1"): path} if path.exists() or self._stamps else {}
        found: dict[Key, Path] = {}
        for entry in sorted(os.scandir(path), key=lambda e: e.name):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                files = (Path(f.path) for f in os.scandir(entry.path) if _is_model(f))
                found |= {(entry.name, file.name.removesuffix(ENDING)): file for file in files}
            elif _is_model(entry):
                found[entry.name.removesuffix(ENDING), "1"] = Path(entry.path)
        return found


def _is_model(entry: Any) -> bool:
    return entry.name.endswith(ENDING) and not entry.name.startswith(".") and entry.is_file()


def stamp_of(file: Path) -> FileStamp:
    """What changes when a file is replaced."""
    found = file.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _order(version: str) -> list[Any]:
    """Versions in the order that people count: 2 before 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"[0-9]+|[^0-9]+", version)]
