"""Checks of linear models: objectives, bounds and likelihoods are summed again from the rows."""
