"""What a comparison tries of kernel features: the rbf kernel at landmarks, with ever weaker penalties.

A pass over n rows mapped to m features costs about n·m·(m + d + 50) operations, 10 s a fit for a million rows and m = 100.
"""

from __future__ import annotations

from assay.learner.prospect import Features, Prospect

FEW, MANY = (
    2_000,
    20_000,
)  # rows between which more landmarks are tried as well: of fewer rows 100 are a good part, of more they cost
LONG = 200_000  # rows from which one setting must do: with so many, settings hardly differ
MOST_ROWS = 3_000_000  # beyond, fits take minutes
WORDS = "words become many sparse columns, in which the kernel of any two rows is nearly 0"
TOO_LONG = "so many rows would be mapped to features for minutes"


def unfit(features: Features) -> str | None:
    """Why a table cannot be used, or None."""
    if features.text:
        return WORDS
    return TOO_LONG if features.rows > MOST_ROWS else None


def _settings(rows: int) -> list[tuple[int, float]]:
    """(landmarks, power of ten of one over the penalty), from simple to complex."""
    if rows > LONG:
        return [(100, 1.0)]
    more = [(300, 1.0)] if FEW <= rows <= MANY else []
    return [(100, 0.0), (100, 1.0), (100, 2.0), *more]


def classifier_prospect(features: Features) -> Prospect:
    """C from strong penalties to weak ones."""
    search = tuple({"n_components": m, "C": 10.0**power} for m, power in _settings(features.rows))
    return Prospect(search=search, scaled=True, rough={"tol": 1e-3}, unfit=unfit(features))


def regressor_prospect(features: Features) -> Prospect:
    """alpha from strong penalties to weak ones."""
    search = tuple({"n_components": m, "alpha": 10.0**-power} for m, power in _settings(features.rows))
    return Prospect(search=search, scaled=True, unfit=unfit(features))
