"""What a comparison tries of kernel features: the rbf kernel at landmarks, with ever weaker penalties."""

from __future__ import annotations

from assay.learner.prospect import Features, Prospect

MOST_ROWS = 3_000_000  # beyond, passes over the mapped rows take minutes
LONG = 200_000  # rows from which one setting must do: all of them nearly agree on so many rows
WORDS = "words become many sparse columns, in which all kernels of rows are nearly 0"
TOO_LONG = "so many rows would be mapped to features for too long; KernelFeaturesClassifier can still stream them"


def unfit(features: Features) -> str | None:
    """Why a table cannot be used, or None."""
    if features.text:
        return WORDS
    return TOO_LONG if features.rows > MOST_ROWS else None


def classifier_prospect(features: Features) -> Prospect:
    """C from strong penalties to weak ones."""
    powers = (1,) if features.rows > LONG else (-1, 0, 1, 2)
    search = tuple({"C": 10.0**power} for power in powers)
    return Prospect(search=search, scaled=True, rough={"tol": 1e-3}, unfit=unfit(features))


def regressor_prospect(features: Features) -> Prospect:
    """alpha from strong penalties to weak ones."""
    powers = (-1,) if features.rows > LONG else (1, 0, -1, -2)
    return Prospect(search=tuple({"alpha": 10.0**power} for power in powers), scaled=True, unfit=unfit(features))
