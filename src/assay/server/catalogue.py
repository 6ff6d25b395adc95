"""The models of a file or a folder, and their replacement while requests go on.

FOLDER/NAME.assay is version 1 of NAME; FOLDER/NAME/V.assay is its version V, of which the latest is the usual one. A new or replaced
file is loaded aside and then put into place in one step; requests under way keep the model that they began with. A file that
cannot be loaded leaves the model as it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.errors import AssayError, ModelFileError, nearest
from assay.http.replies import Refusal
from assay.server.served import ServedModel

ENDING = ".assay"
FileStamp = tuple[int, int, int]
Key = tuple[str, str]


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
