"""The constant hypothesis: what a model must beat before its columns are worth anything."""
