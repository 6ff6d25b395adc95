"""Quadratic and linear discriminant analysis: Bayes' rule with normal classes."""
