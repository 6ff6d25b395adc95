"""What fitted trees and forests keep for their claims; a tree taken out of a forest has none of it, and makes none."""

from __future__ import annotations

from assay.layout import Fact, Layout, Tensor

EVIDENCE: Layout = {
    "weight_": Fact(float, low=0, doc="the total weight of the rows of the fit"),
    "rows_": Fact(int, low=1, doc="the number of rows of the fit"),
    "exact_": Fact(bool, optional=True, doc="whether all thresholds were tried, and not those between bins alone"),
    "training_loss_": Fact(float, low=0, optional=True, doc="the training error: share of wrong answers, or mean squared (absolute, Poisson) error"),
    "gain_": Tensor(("S",), optional=True, doc="what each split gained in purity"),
}  # fmt: skip
OF_FORESTS: Layout = {
    "alike_": Fact(bool, doc="whether all trees come from the same rows and settings; warm_start may mix them"),
    "weighted_": Fact(bool, doc="whether the rows of the fit had weights"),
    "draws_": Fact(int, low=1, optional=True, doc="the rows drawn for each tree; absent where trees see all rows"),
    "oob_trees_": Fact(int, low=0, doc="the trees that judged rows which they did not see"),
}
