"""Which of scikit-learn's test modules belong to which family."""

from __future__ import annotations

FAMILIES = {
    "naive Bayes": ["sklearn.tests.test_naive_bayes"],
    "LDA, QDA": ["sklearn.tests.test_discriminant_analysis"],
    "LinearRegression": ["sklearn.linear_model.tests.test_base"],
    "Ridge": ["sklearn.linear_model.tests.test_ridge"],
    "Perceptron": ["sklearn.linear_model.tests.test_perceptron"],
    "Huber, quantiles": ["sklearn.linear_model.tests.test_huber", "sklearn.linear_model.tests.test_quantile"],
    "SGD, passive-aggressive": [
        "sklearn.linear_model.tests.test_sgd",
        "sklearn.linear_model.tests.test_passive_aggressive",
    ],
    "LogisticRegression": ["sklearn.linear_model.tests.test_logistic"],
    "SVC, SVR, LinearSVC": ["sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_bounds"],
    "KernelRidge": ["sklearn.tests.test_kernel_ridge"],
    "SVM, sparse file": ["sklearn.svm.tests.test_sparse"],
    "trees": ["sklearn.tree.tests.test_tree", "sklearn.tree.tests.test_monotonic_tree"],
    "tree export": ["sklearn.tree.tests.test_export"],
    "forests": ["sklearn.ensemble.tests.test_forest"],
    "neighbours": [
        "sklearn.neighbors.tests.test_neighbors",
        "sklearn.neighbors.tests.test_neighbors_pipeline",
        "sklearn.neighbors.tests.test_graph",
        "sklearn.neighbors.tests.test_nearest_centroid",
        "sklearn.neighbors.tests.test_nca",
    ],
    "MLP": ["sklearn.neural_network.tests.test_mlp"],
    "Nystroem": ["sklearn.tests.test_kernel_approximation"],
}
