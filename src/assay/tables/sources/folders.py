"""Which files of a folder are its table: those of one form, the one that most of them have; a note says which are not read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.errors import DataError

PARQUET = "Parquet"
PARQUET_NAMES = (".parquet", ".pq", ".parq")
FORMS = {
    **dict.fromkeys(PARQUET_NAMES, PARQUET),
    **dict.fromkeys((".csv", ".tsv"), "CSV"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "Arrow"),
    **dict.fromkeys((".xlsx", ".xls"), "Excel"),
    ".arff": "ARFF",
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), "svmlight"),
}
PACKED = (".gz", ".zst", ".bz2", ".lz4")
NAMED = 3


class FolderFiles(NamedTuple):
    """The files that are read as one table, and all others."""

    form: str
    read: list[Path]
    left: list[Path]

    def notes(self, folder: Path) -> list[str]:
        """What is read of a folder, where something is not."""
        if not self.read or not self.left:
            return []
        files = "file" if len(self.read) == 1 else "files"
        return [
            f"Of {str(folder)!r} the {len(self.read)} {self.form} {files} {_named(self.read, folder)} are read as one table; not read: "
            f"{_named(self.left, folder)}."
        ]


def tables_inside(folder: Path) -> FolderFiles:
    """The tables of a folder and its subfolders, but hidden ones and those that begin with _ (as writers' marks do)."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
    shown = [p for p in files if not any(part[0] in "._" for part in p.relative_to(folder).parts)]
    by_form: dict[str, list[Path]] = {}
    for path in shown:
        by_form.setdefault(form_by_name(path), []).append(path)
    by_form.pop("", None)
    form = PARQUET if PARQUET in by_form else _most(by_form, folder)
    read = by_form.get(form, [])
    return FolderFiles(form, read, [path for path in shown if path not in set(read)])


def form_by_name(path: Path) -> str:
    """The form that a file's name says; "" where it says none.

    >>> form_by_name(Path("sales.csv.gz")), form_by_name(Path("notes.txt"))
    ('CSV', '')
    """
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return FORMS.get(Path(name).suffix, "")


def _most(by_form: dict[str, list[Path]], folder: Path) -> str:
    """The form most files have."""
    counted = sorted(by_form, key=lambda form: -len(by_form[form]))
    if len(counted) > 1 and len(by_form[counted[0]]) == len(by_form[counted[1]]):
        some = "; ".join(f"{form}: {_named(by_form[form], folder)}" for form in counted)
        raise DataError(
            f"{str(folder)!r} holds tables of several forms ({some}): give the file, or a pattern such as {str(folder / '*.csv')!r}."
        )
    return counted[0] if counted else ""


def _named(paths: Sequence[Path], folder: Path) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(str(path.relative_to(folder)) for path in paths[:NAMED]) + more
