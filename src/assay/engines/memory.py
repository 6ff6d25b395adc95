"""How much memory there is. A container's limit counts, not the machine's: what lies beyond it ends the process without a word."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from assay.errors import DataError

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
MACHINE = Path("/proc/meminfo")
UNKNOWN = 8e9  # bytes of a system that does not say
WORTH_SAYING = 2e9  # bytes: who reads a stream does not expect that much


def memory_limit(groups: Path = GROUPS, own: Path = OWN_GROUP) -> float:
    """Bytes that this process may use in all: the least of the machine's and of all the groups that it is in."""
    return min([_machine(), *(limit for limit, _ in _limits(groups, own))])


def free_memory(groups: Path = GROUPS, own: Path = OWN_GROUP) -> float:
    """Bytes that are still there for this process; infinite where the system does not say."""
    return min([_available(), *(limit - used for limit, used in _limits(groups, own))])


def check_room(rows: int, bytes_a_row: float) -> None:
    """Say what it takes to hold so many rows at once before they are read, and refuse where there is no room for them."""
    needed = rows * bytes_a_row
    if needed < WORTH_SAYING:
        return
    free = free_memory()
    if needed > free:
        raise DataError(
            f"All {rows} rows are needed in memory at once, about {_gigabytes(needed)}, and {_gigabytes(free)} are free. Take a model that "
            "reads them as a stream (logistic-regression, linear-svc, kernel-features, ridge, …), or fewer rows: "
            "--sql 'select * from data using sample 100000'."
        )
    warnings.warn(f"All {rows} rows are read into memory, which takes about {_gigabytes(needed)}.", stacklevel=3)


def _machine() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _available() -> float:
    try:
        lines = MACHINE.read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return float("inf")


def _limits(groups: Path, own: Path) -> Iterator[tuple[float, float]]:
    """(limit, used) of the group of this process and of those that it lies in; nothing where there are no groups."""
    for folder in _folders(groups, own):
        for most, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            try:
                yield float((folder / most).read_text()), float((folder / used).read_text())
            except (OSError, ValueError):  # "max": no limit
                continue


def _folders(groups: Path, own: Path) -> Iterator[Path]:
    try:
        paths = [line.split(":", 2)[2] for line in own.read_text().splitlines() if line.split(":")[1] in ("", "memory")]
    except (OSError, IndexError):
        paths = []
    for root in (groups, groups / "memory"):
        yield root
        for path in paths:
            place = Path(path.strip().lstrip("/"))
            yield from (root / part for part in (place, *place.parents) if part != Path())


def _gigabytes(amount: float) -> str:
    """
    >>> _gigabytes(8.43e9)
    '8.4 GB'
    """
    return f"{max(0.0, amount) / 1e9:.1f} GB"
