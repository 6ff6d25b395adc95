"""What is proved of boosted trees."""

from __future__ import annotations

from typing import Any

from assay.certify import Claim
from assay.certify.coverage import Coverage

COVERAGE = Coverage()


def boosting_coverage(model: Any, claims: tuple[Claim, ...]) -> Coverage:
    return COVERAGE


def boosting_claims(model: Any) -> tuple[Claim, ...]:
    return ()
