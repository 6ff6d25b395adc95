"""Neural networks: a classifier and a regressor of any number of layers.

Files: `parts` (hyper-parameters, learnt parts), `survey` (what is known before the first epoch), `standard` (columns brought to one scale, and weights
back), `task` (rows as the loops want them), `plan` (the rule, its rate, when to stop), `epochs` (mini-batches), `straying` (when they went astray),
`walks` (where batches run: here, or where rows lie on a cluster), `whole_batch` (L-BFGS), `model` (what both estimators share).
"""

from assay.hypotheses.network.classifier import MLPClassifier
from assay.hypotheses.network.regressor import MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
