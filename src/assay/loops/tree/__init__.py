"""Loops that grow and walk decision trees."""
