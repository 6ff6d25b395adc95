"""Naive Bayes under the names people know: one class a set of hyper-parameters, all of one text (`model.py`)."""

from assay.hypotheses.naive_bayes.bernoulli import BernoulliNB
from assay.hypotheses.naive_bayes.by_column import NaiveBayes
from assay.hypotheses.naive_bayes.categorical import CategoricalNB
from assay.hypotheses.naive_bayes.gaussian import GaussianNB
from assay.hypotheses.naive_bayes.multinomial import MultinomialNB

__all__ = ["BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB", "NaiveBayes"]
