"""Compiled loops of the perceptron: rows against weights, and passes over rows."""
