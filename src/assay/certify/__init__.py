"""Certificates: claims with witnesses, and the checkers that re-establish them. Names are imported when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.certify.certificate import Certificate, Verdicts
    from assay.certify.claim import Claim, Verdict

__all__ = ["Certificate", "Claim", "Verdict", "Verdicts"]
_HOMES = {"Certificate": "certificate", "Claim": "claim", "Verdict": "claim", "Verdicts": "certificate"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"assay.certify.{_HOMES[name]}"), name)
