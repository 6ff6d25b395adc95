"""Claims that are made when they are first asked for: a search fits many models and asks none of them."""

from __future__ import annotations

from copy import copy

from assay.certify import Claim
from assay.learner.docstrings import attribute
from assay.learner.learner import Learner


class ClaimsWhenAsked(Learner):
    """A fit sets `_made` to None; `_make_claims` makes them of what was learnt."""

    _made: tuple[Claim, ...] | None = attribute(default=())

    @property  # type: ignore[override]
    def _claims(self) -> tuple[Claim, ...]:
        if self._made is None:
            fitted = copy(self)
            vars(fitted).update(self._fitted_with)  # whatever set_params did since
            self._made = fitted._make_claims()
        return self._made

    @_claims.setter
    def _claims(self, claims: tuple[Claim, ...]) -> None:
        self._made = claims
