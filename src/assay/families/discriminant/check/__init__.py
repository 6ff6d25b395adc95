"""Checks of what is claimed of normal class densities: the densities themselves, and covariances that were pulled together."""
