"""The perceptron in every form of the lecture notes. Shape: ordered stream."""
