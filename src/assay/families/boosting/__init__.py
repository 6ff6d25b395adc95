"""Gradient boosting: an empirical risk made small by gradient descent in the space of functions, a tree a step."""
