"""The table of the tests of budgets: many rows of two classes that one column tells apart."""

from __future__ import annotations

import numpy as np
import pandas as pd

ROWS = 2400


def two_classes() -> pd.DataFrame:
    """Columns a, b and c, of which a is greater in class 1, and the class y."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(ROWS) % 2)
    X = rng.normal(size=(ROWS, 3))
    X[:, 0] += 2.5 * y
    return pd.DataFrame(X, columns=list("abc")).assign(y=y)
