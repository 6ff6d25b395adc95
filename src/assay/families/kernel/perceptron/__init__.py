"""The kernel perceptron. Shape: ordered stream."""
