"""One small independent checker a kind of claim: plain NumPy, two passes where the solver took one, slow if need be.

A checker is `check(claim, rows, predict) -> Verdict`. It trusts nothing but the rows and the witness. It must refuse a
witness that does not prove the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from assay.certify.claim import Claim, Verdict
from assay.engines import Rows

Check = Callable[[Claim, Rows, Any], Verdict]

CHECKS: dict[str, str] = {
    "held_out_error": "assay.certify.checks.held_out:check_held_out_error",
}


def checker(name: str) -> Check | None:
    """The checker of that name, or None."""
    where = CHECKS.get(name)
    if where is None:
        return None
    module, function = where.split(":")
    found: Check = getattr(import_module(module), function)
    return found
