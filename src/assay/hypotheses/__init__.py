"""What users fit: one file a hypothesis class. This page is the registry: a new model is added here and nowhere else.

Modules are imported when their model is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.certify.registry import checks_in
from assay.errors import ModelFileError, ParameterError, nearest

if TYPE_CHECKING:
    from assay.hypotheses.baseline import Baseline as Baseline
    from assay.hypotheses.baseline import BaselineRegressor as BaselineRegressor
    from assay.hypotheses.discriminant import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from assay.hypotheses.discriminant import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from assay.hypotheses.erm import ERM as ERM
    from assay.hypotheses.forest import ExtraTreesClassifier as ExtraTreesClassifier
    from assay.hypotheses.forest import ExtraTreesRegressor as ExtraTreesRegressor
    from assay.hypotheses.forest import RandomForestClassifier as RandomForestClassifier
    from assay.hypotheses.forest import RandomForestRegressor as RandomForestRegressor
    from assay.hypotheses.kernel_features import KernelFeaturesClassifier as KernelFeaturesClassifier
    from assay.hypotheses.kernel_features import KernelFeaturesRegressor as KernelFeaturesRegressor
    from assay.hypotheses.kernel_perceptron import KernelPerceptron as KernelPerceptron
    from assay.hypotheses.kernel_svm import SVC as SVC
    from assay.hypotheses.kernel_svm import SVR as SVR
    from assay.hypotheses.least_squares import LinearRegression as LinearRegression
    from assay.hypotheses.least_squares import Ridge as Ridge
    from assay.hypotheses.linear_svc import LinearSVC as LinearSVC
    from assay.hypotheses.logistic import LogisticRegression as LogisticRegression
    from assay.hypotheses.naive_bayes import BernoulliNB as BernoulliNB
    from assay.hypotheses.naive_bayes import CategoricalNB as CategoricalNB
    from assay.hypotheses.naive_bayes import GaussianNB as GaussianNB
    from assay.hypotheses.naive_bayes import MultinomialNB as MultinomialNB
    from assay.hypotheses.naive_bayes import NaiveBayes as NaiveBayes
    from assay.hypotheses.neighbours import KNeighborsClassifier as KNeighborsClassifier
    from assay.hypotheses.neighbours import KNeighborsRegressor as KNeighborsRegressor
    from assay.hypotheses.network import MLPClassifier as MLPClassifier
    from assay.hypotheses.network import MLPRegressor as MLPRegressor
    from assay.hypotheses.perceptron import Perceptron as Perceptron
    from assay.hypotheses.rectangle import RectangleClassifier as RectangleClassifier
    from assay.hypotheses.tree import DecisionTreeClassifier as DecisionTreeClassifier
    from assay.hypotheses.tree import DecisionTreeRegressor as DecisionTreeRegressor
    from assay.learner import Learner
    from assay.store import Record

REGISTRY: dict[str, str] = {
    "baseline": "assay.hypotheses.baseline:Baseline",
    "baseline-regressor": "assay.hypotheses.baseline:BaselineRegressor",
    "naive-bayes": "assay.hypotheses.naive_bayes:NaiveBayes",
    "gaussian-nb": "assay.hypotheses.naive_bayes:GaussianNB",
    "bernoulli-nb": "assay.hypotheses.naive_bayes:BernoulliNB",
    "multinomial-nb": "assay.hypotheses.naive_bayes:MultinomialNB",
    "categorical-nb": "assay.hypotheses.naive_bayes:CategoricalNB",
    "qda": "assay.hypotheses.discriminant:QuadraticDiscriminantAnalysis",
    "lda": "assay.hypotheses.discriminant:LinearDiscriminantAnalysis",
    "linear-regression": "assay.hypotheses.least_squares:LinearRegression",
    "ridge": "assay.hypotheses.least_squares:Ridge",
    "logistic-regression": "assay.hypotheses.logistic:LogisticRegression",
    "perceptron": "assay.hypotheses.perceptron:Perceptron",
    "kernel-perceptron": "assay.hypotheses.kernel_perceptron:KernelPerceptron",
    "linear-svc": "assay.hypotheses.linear_svc:LinearSVC",
    "erm": "assay.hypotheses.erm:ERM",
    "decision-tree": "assay.hypotheses.tree:DecisionTreeClassifier",
    "tree-regressor": "assay.hypotheses.tree:DecisionTreeRegressor",
    "random-forest": "assay.hypotheses.forest:RandomForestClassifier",
    "forest-regressor": "assay.hypotheses.forest:RandomForestRegressor",
    "extra-trees": "assay.hypotheses.forest:ExtraTreesClassifier",
    "extra-regressor": "assay.hypotheses.forest:ExtraTreesRegressor",
    "knn": "assay.hypotheses.neighbours:KNeighborsClassifier",
    "knn-regressor": "assay.hypotheses.neighbours:KNeighborsRegressor",
    "svc": "assay.hypotheses.kernel_svm:SVC",
    "svr": "assay.hypotheses.kernel_svm:SVR",
    "kernel-features": "assay.hypotheses.kernel_features:KernelFeaturesClassifier",
    "features-regressor": "assay.hypotheses.kernel_features:KernelFeaturesRegressor",
    "mlp": "assay.hypotheses.network:MLPClassifier",
    "mlp-regressor": "assay.hypotheses.network:MLPRegressor",
    "rectangle": "assay.hypotheses.rectangle:RectangleClassifier",
}
CHECKS = (
    "assay.certify.checks.baseline",
    "assay.certify.checks.custom_loss",
    "assay.certify.checks.discriminant",
    "assay.certify.checks.hard_margin",
    "assay.certify.checks.kernel_features",
    "assay.certify.checks.kernel_perceptron",
    "assay.certify.checks.kernel_probability",
    "assay.certify.checks.kernel_svm",
    "assay.certify.checks.least_squares",
    "assay.certify.checks.linear",
    "assay.certify.checks.linear_likelihood",
    "assay.certify.checks.naive_bayes",
    "assay.certify.checks.neighbours",
    "assay.certify.checks.network",
    "assay.certify.checks.perceptron",
    "assay.certify.checks.rectangle",
    "assay.certify.checks.separability",
    "assay.certify.checks.trees_leaves",
    "assay.certify.checks.trees_splits",
)
checks_in(*CHECKS)
CLASS_NAMES: dict[str, str] = {where.split(":")[1]: name for name, where in REGISTRY.items()}


def model_class(name: str) -> type[Learner]:
    """The class of a registry name, such as 'gaussian-nb'."""
    if name not in REGISTRY:
        raise ParameterError(f"There is no model {name!r}. {nearest(name, REGISTRY)}")
    module, cls = REGISTRY[name].split(":")
    found: type[Learner] = getattr(import_module(module), cls)
    return found


def models() -> dict[str, type[Learner]]:
    """Every model: {name on the command line: class}.

    >>> "gaussian-nb" in models()
    True
    """
    return {name: model_class(name) for name in REGISTRY}


def model_of_record(record: Record) -> Any:
    """The model of plain data that has not been trusted yet."""
    if record.model not in REGISTRY:
        raise ModelFileError(
            f"The file holds a model {record.model!r} that this version of Assay does not know. Upgrade Assay?"
        )
    return model_class(record.model).from_record(record)
