"""Choosing between hypotheses."""

from collections.abc import Callable
from typing import Any

write_report: Callable[
    [Any, Any], None
]  # (comparison, path): reports stand above this folder, so the package hands theirs in
