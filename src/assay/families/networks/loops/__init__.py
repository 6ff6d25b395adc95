"""Compiled loops of networks: products of small matrices, activations, and a whole epoch of mini-batches."""
