"""What is claimed of a network's fit."""

from __future__ import annotations

from typing import Any

from assay.certify import Claim


def network_claims(model: Any) -> tuple[Claim, ...]:
    """The claims of a fitted network."""
    return ()
