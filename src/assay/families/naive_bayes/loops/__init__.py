"""Compiled loops of naive Bayes: counts and log densities."""
