"""What fitted trees and forests keep for their claims; a tree taken out of a forest has none of it, and makes none."""

from __future__ import annotations

from assay.layout import Fact, Layout, Tensor

EVIDENCE: Layout = {
    "weight_": Fact(float, low=0),
    "rows_": Fact(int, low=1),
    "exact_": Fact(bool, optional=True),
    "training_loss_": Fact(float, low=0, optional=True),
    "gain_": Tensor(("S",), optional=True),
}
OF_FORESTS: Layout = {
    "alike_": Fact(bool),  # all trees come from the same rows and settings
    "weighted_": Fact(bool),
    "draws_": Fact(int, low=1, optional=True),  # rows drawn for each tree
    "oob_trees_": Fact(int, low=0),  # trees that judged the rows that they did not see
}
