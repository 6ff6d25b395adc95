"""Pieces of a file worked on by a few threads, the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from assay.engines.threads import worker_count

MOST_WORKERS = 8
Item = TypeVar("Item")


def in_order(work: Callable[[Item], Any], items: Iterator[Item]) -> Iterator[tuple[Item, Future[Any]]]:
    """(item, its future result) in order; no more items are held than there are threads, and one more."""
    workers = min(worker_count(), MOST_WORKERS)
    with ThreadPoolExecutor(workers, thread_name_prefix="assay-parse") as pool:
        waiting = deque((item, pool.submit(work, item)) for item in islice(items, workers + 1))
        try:
            while waiting:
                yield waiting.popleft()
                waiting.extend((item, pool.submit(work, item)) for item in islice(items, 1))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
