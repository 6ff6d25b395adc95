"""Files as wholes: written completely or not at all, read only where they can be what they claim to be."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from assay.abandoned import locked, locks, remove_abandoned
from assay.errors import ModelFileError, WriteError

LARGEST_FILE = 16 << 30
OURS = re.compile(r"\.assay-[0-9a-f]{16}")  # files that are not whole yet


def write_atomically(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write bytes beside the target, make them durable, then rename: an older file stays whole until then."""
    target = Path(path)
    if os.path.isdir(target):
        raise ModelFileError(f"{str(target)!r} is a directory: give the name of a file.")
    if not os.path.isdir(target.parent):
        raise ModelFileError(f"The folder {str(target.parent)!r} does not exist: make it first.")
    try:
        if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device is written to, never replaced
            target.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(target)), data)  # the file that a link points to, not the link
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise WriteError(f"{str(target)!r} could not be written ({why}); what was there is untouched.") from error


def _replace(target: Path, data: bytes) -> None:
    with file_beside(target) as (file, _):
        file.write(data)


@contextmanager
def file_beside(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file beside the target, open and by its path, which takes the target's place at the end, or vanishes where anything goes wrong.

    It is locked for as long as it is there. What a killed process has left is not, and is removed before.
    """
    remove_abandoned(target.parent, OURS)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    made: list[Path] = []
    try:
        with _locked_file(target.parent, made) as file:
            yield file, made[-1]
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.chmod(made[-1], mode)
            if not locks(file.fileno(), wait=False):  # Windows: what is open cannot be moved, and is not locked either
                file.close()
            os.replace(made[-1], target)
    except BaseException:
        for beside in made:
            beside.unlink(missing_ok=True)
        raise


def _locked_file(folder: Path, made: list[Path]) -> BinaryIO:
    """A new file that this process has locked; its path is told in `made` before it is there, so that no interrupt leaves it behind."""

    def make() -> int:
        made.append(folder / f".assay-{secrets.token_hex(8)}")
        return os.open(made[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)

    return os.fdopen(locked(make), "wb")


def _read_pipe(file: BinaryIO) -> bytes:
    chunks, size = [], 0
    while chunk := file.read(1 << 20):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST_FILE:
            raise ModelFileError("What comes through the pipe is larger than any model file.")
    return b"".join(chunks)


def read_whole(path: str | os.PathLike[str], largest_header: int) -> bytes:
    """The bytes of a model file; what cannot be one, by its size or its first 8 bytes, is not read further."""
    if not isinstance(path, str | os.PathLike):
        raise ModelFileError(f"A model file is named by a path, not by {type(path).__name__}.")
    source = Path(path)
    if os.path.isdir(source):
        raise ModelFileError(f"{str(source)!r} is a directory, not a model file.")
    try:
        with source.open("rb") as file:
            start = file.read(8)
            size = os.fstat(file.fileno()).st_size if source.is_file() else LARGEST_FILE
            if size > LARGEST_FILE:
                raise ModelFileError(f"{str(source)!r} is larger than any model file.")
            if len(start) < 8:
                raise ModelFileError(f"{str(source)!r} is no model file: it is shorter than 8 bytes.")
            if int.from_bytes(start, "little") > min(largest_header, size - 8):
                raise ModelFileError(
                    f"{str(source)!r} is no model file, or it is cut short: the length of its header does not fit its size."
                )
            return start + (file.read() if source.is_file() else _read_pipe(file))
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {str(source)!r}.") from None
    except (OSError, ValueError, MemoryError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{str(source)!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
