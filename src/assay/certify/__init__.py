"""Certificates: claims with witnesses, and the checkers that re-establish them."""

from assay.certify.certificate import Certificate, Verdicts
from assay.certify.claim import Claim, Verdict

__all__ = ["Certificate", "Claim", "Verdict", "Verdicts"]
