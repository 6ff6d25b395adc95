"""Compiled loops that grow and walk decision trees."""
