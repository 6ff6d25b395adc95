"""The estimator protocol: scikit-learn's words, implemented without scikit-learn."""
