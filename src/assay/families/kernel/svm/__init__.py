"""Support vector machines in the feature space of a kernel: classes and numbers. Shape: pairwise blocks."""
