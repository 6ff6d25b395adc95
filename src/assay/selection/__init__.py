"""Choosing between hypotheses: a comparison is planned (plan.py), run (compare.py) and judged (judge.py)."""

from collections.abc import Callable
from typing import Any

# What `Comparison.report` calls, with a comparison, a path and names of models. Reports stand above this folder, so the package hands theirs in.
write_report: Callable[[Any, Any, Any], None]

# What `Comparison.plot` calls, with a comparison and axes: figures stand above this folder, too.
plot_ranking: Callable[[Any, Any], Any]
