"""What users fit: a folder a family. This page is the registry: a new model is one line of it and one folder beside it.

Modules are imported when their model is first asked for, and a family's `check` when a claim first asks for its checker.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.certify.registry import checks_in
from assay.errors import ModelFileError, ParameterError, nearest

if TYPE_CHECKING:
    from assay.estimator.estimator import Estimator
    from assay.families.baseline.dummy import DummyClassifier as DummyClassifier
    from assay.families.baseline.dummy import DummyRegressor as DummyRegressor
    from assay.families.baseline.estimators import Baseline as Baseline
    from assay.families.baseline.estimators import BaselineRegressor as BaselineRegressor
    from assay.families.boosting.adaboost import AdaBoostClassifier as AdaBoostClassifier
    from assay.families.boosting.estimators import GradientBoostingClassifier as GradientBoostingClassifier
    from assay.families.boosting.estimators import GradientBoostingRegressor as GradientBoostingRegressor
    from assay.families.discriminant.estimators import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from assay.families.discriminant.estimators import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from assay.families.kernel.features.estimators import KernelFeaturesClassifier as KernelFeaturesClassifier
    from assay.families.kernel.features.estimators import KernelFeaturesRegressor as KernelFeaturesRegressor
    from assay.families.kernel.perceptron.estimators import KernelPerceptron as KernelPerceptron
    from assay.families.kernel.ridge.estimators import KernelRidge as KernelRidge
    from assay.families.kernel.svm.estimators import SVC as SVC
    from assay.families.kernel.svm.estimators import SVR as SVR
    from assay.families.kernel.svm.nu import NuSVC as NuSVC
    from assay.families.kernel.svm.nu import NuSVR as NuSVR
    from assay.families.least_squares.estimators import LinearRegression as LinearRegression
    from assay.families.least_squares.estimators import Ridge as Ridge
    from assay.families.linear.cross_validated import ElasticNetCV as ElasticNetCV
    from assay.families.linear.cross_validated import LassoCV as LassoCV
    from assay.families.linear.elastic_net import ElasticNet as ElasticNet
    from assay.families.linear.elastic_net import Lasso as Lasso
    from assay.families.linear.erm import ERM as ERM
    from assay.families.linear.glm import GammaRegressor as GammaRegressor
    from assay.families.linear.glm import PoissonRegressor as PoissonRegressor
    from assay.families.linear.glm import TweedieRegressor as TweedieRegressor
    from assay.families.linear.huber import HuberRegressor as HuberRegressor
    from assay.families.linear.linear_svc import LinearSVC as LinearSVC
    from assay.families.linear.logistic import LogisticRegression as LogisticRegression
    from assay.families.linear.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
    from assay.families.linear.passive_aggressive import PassiveAggressiveClassifier as PassiveAggressiveClassifier
    from assay.families.linear.passive_aggressive import PassiveAggressiveRegressor as PassiveAggressiveRegressor
    from assay.families.linear.ridge import RidgeClassifier as RidgeClassifier
    from assay.families.linear.ridge import RidgeClassifierCV as RidgeClassifierCV
    from assay.families.linear.ridge import RidgeCV as RidgeCV
    from assay.families.linear.sgd import SGDClassifier as SGDClassifier
    from assay.families.linear.sgd import SGDRegressor as SGDRegressor
    from assay.families.linear.straight import LinearSVR as LinearSVR
    from assay.families.linear.straight import QuantileRegressor as QuantileRegressor
    from assay.families.naive_bayes.complement import ComplementNB as ComplementNB
    from assay.families.naive_bayes.estimators import BernoulliNB as BernoulliNB
    from assay.families.naive_bayes.estimators import CategoricalNB as CategoricalNB
    from assay.families.naive_bayes.estimators import GaussianNB as GaussianNB
    from assay.families.naive_bayes.estimators import MultinomialNB as MultinomialNB
    from assay.families.naive_bayes.estimators import NaiveBayes as NaiveBayes
    from assay.families.nearest_centroid.estimators import NearestCentroid as NearestCentroid
    from assay.families.neighbours.estimators import KNeighborsClassifier as KNeighborsClassifier
    from assay.families.neighbours.estimators import KNeighborsRegressor as KNeighborsRegressor
    from assay.families.neighbours.radius import RadiusNeighborsClassifier as RadiusNeighborsClassifier
    from assay.families.neighbours.radius import RadiusNeighborsRegressor as RadiusNeighborsRegressor
    from assay.families.networks.estimators import MLPClassifier as MLPClassifier
    from assay.families.networks.estimators import MLPRegressor as MLPRegressor
    from assay.families.perceptron.estimators import Perceptron as Perceptron
    from assay.families.rectangles.estimators import RectangleClassifier as RectangleClassifier
    from assay.families.trees.estimators import DecisionTreeClassifier as DecisionTreeClassifier
    from assay.families.trees.estimators import DecisionTreeRegressor as DecisionTreeRegressor
    from assay.families.trees.estimators import ExtraTreesClassifier as ExtraTreesClassifier
    from assay.families.trees.estimators import ExtraTreesRegressor as ExtraTreesRegressor
    from assay.families.trees.estimators import RandomForestClassifier as RandomForestClassifier
    from assay.families.trees.estimators import RandomForestRegressor as RandomForestRegressor
    from assay.families.trees.extra_tree import ExtraTreeClassifier as ExtraTreeClassifier
    from assay.families.trees.extra_tree import ExtraTreeRegressor as ExtraTreeRegressor
    from assay.store import Record

REGISTRY: dict[str, str] = {
    "baseline": "assay.families.baseline.estimators:Baseline",
    "baseline-regressor": "assay.families.baseline.estimators:BaselineRegressor",
    "dummy-classifier": "assay.families.baseline.dummy:DummyClassifier",
    "dummy-regressor": "assay.families.baseline.dummy:DummyRegressor",
    "naive-bayes": "assay.families.naive_bayes.estimators:NaiveBayes",
    "gaussian-nb": "assay.families.naive_bayes.estimators:GaussianNB",
    "bernoulli-nb": "assay.families.naive_bayes.estimators:BernoulliNB",
    "multinomial-nb": "assay.families.naive_bayes.estimators:MultinomialNB",
    "complement-nb": "assay.families.naive_bayes.complement:ComplementNB",
    "categorical-nb": "assay.families.naive_bayes.estimators:CategoricalNB",
    "qda": "assay.families.discriminant.estimators:QuadraticDiscriminantAnalysis",
    "lda": "assay.families.discriminant.estimators:LinearDiscriminantAnalysis",
    "linear-regression": "assay.families.least_squares.estimators:LinearRegression",
    "ridge": "assay.families.least_squares.estimators:Ridge",
    "elastic-net": "assay.families.linear.elastic_net:ElasticNet",
    "lasso": "assay.families.linear.elastic_net:Lasso",
    "lasso-cv": "assay.families.linear.cross_validated:LassoCV",
    "elastic-net-cv": "assay.families.linear.cross_validated:ElasticNetCV",
    "ridge-cv": "assay.families.linear.ridge:RidgeCV",
    "ridge-classifier": "assay.families.linear.ridge:RidgeClassifier",
    "ridge-classifier-cv": "assay.families.linear.ridge:RidgeClassifierCV",
    "logistic-regression": "assay.families.linear.logistic:LogisticRegression",
    "logistic-regression-cv": "assay.families.linear.logistic_cv:LogisticRegressionCV",
    "poisson-regressor": "assay.families.linear.glm:PoissonRegressor",
    "gamma-regressor": "assay.families.linear.glm:GammaRegressor",
    "tweedie-regressor": "assay.families.linear.glm:TweedieRegressor",
    "perceptron": "assay.families.perceptron.estimators:Perceptron",
    "kernel-perceptron": "assay.families.kernel.perceptron.estimators:KernelPerceptron",
    "linear-svc": "assay.families.linear.linear_svc:LinearSVC",
    "huber": "assay.families.linear.huber:HuberRegressor",
    "linear-svr": "assay.families.linear.straight:LinearSVR",
    "quantile-regressor": "assay.families.linear.straight:QuantileRegressor",
    "sgd": "assay.families.linear.sgd:SGDClassifier",
    "sgd-regressor": "assay.families.linear.sgd:SGDRegressor",
    "passive-aggressive": "assay.families.linear.passive_aggressive:PassiveAggressiveClassifier",
    "passive-aggressive-regressor": "assay.families.linear.passive_aggressive:PassiveAggressiveRegressor",
    "erm": "assay.families.linear.erm:ERM",
    "decision-tree": "assay.families.trees.estimators:DecisionTreeClassifier",
    "tree-regressor": "assay.families.trees.estimators:DecisionTreeRegressor",
    "random-forest": "assay.families.trees.estimators:RandomForestClassifier",
    "forest-regressor": "assay.families.trees.estimators:RandomForestRegressor",
    "extra-tree": "assay.families.trees.extra_tree:ExtraTreeClassifier",
    "extra-tree-regressor": "assay.families.trees.extra_tree:ExtraTreeRegressor",
    "extra-trees": "assay.families.trees.estimators:ExtraTreesClassifier",
    "extra-regressor": "assay.families.trees.estimators:ExtraTreesRegressor",
    "adaboost": "assay.families.boosting.adaboost:AdaBoostClassifier",
    "gradient-boosting": "assay.families.boosting.estimators:GradientBoostingClassifier",
    "boosting-regressor": "assay.families.boosting.estimators:GradientBoostingRegressor",
    "nearest-centroid": "assay.families.nearest_centroid.estimators:NearestCentroid",
    "knn": "assay.families.neighbours.estimators:KNeighborsClassifier",
    "knn-regressor": "assay.families.neighbours.estimators:KNeighborsRegressor",
    "radius-neighbors": "assay.families.neighbours.radius:RadiusNeighborsClassifier",
    "radius-neighbors-regressor": "assay.families.neighbours.radius:RadiusNeighborsRegressor",
    "svc": "assay.families.kernel.svm.estimators:SVC",
    "svr": "assay.families.kernel.svm.estimators:SVR",
    "nu-svc": "assay.families.kernel.svm.nu:NuSVC",
    "nu-svr": "assay.families.kernel.svm.nu:NuSVR",
    "kernel-ridge": "assay.families.kernel.ridge.estimators:KernelRidge",
    "kernel-features": "assay.families.kernel.features.estimators:KernelFeaturesClassifier",
    "features-regressor": "assay.families.kernel.features.estimators:KernelFeaturesRegressor",
    "mlp": "assay.families.networks.estimators:MLPClassifier",
    "mlp-regressor": "assay.families.networks.estimators:MLPRegressor",
    "rectangle": "assay.families.rectangles.estimators:RectangleClassifier",
}
checks_in(
    *dict.fromkeys(where.rpartition(".")[0] + ".check" for where in REGISTRY.values()),
    "assay.families.separability.check",  # which is no model
)
CLASS_NAMES: dict[str, str] = {where.split(":")[1]: name for name, where in REGISTRY.items()}


def model_class(name: str) -> type[Estimator]:
    """The class of a registry name, such as 'gaussian-nb'."""
    if name not in REGISTRY:
        raise ParameterError(f"There is no model {name!r}. {nearest(name, REGISTRY)}")
    module, cls = REGISTRY[name].split(":")
    found: type[Estimator] = getattr(import_module(module), cls)
    return found


def models() -> dict[str, type[Estimator]]:
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
