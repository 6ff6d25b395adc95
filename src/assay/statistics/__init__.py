"""Sufficient statistics that several families share: moments, scatter and Gram matrices, targets."""
