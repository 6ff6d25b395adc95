"""Feed-forward networks: a classifier and a regressor of any number of layers."""
