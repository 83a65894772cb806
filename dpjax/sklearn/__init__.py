"""Estimators for scikit-learn: every `fit` makes a private release of its records."""

__all__ = [
    "PrivacySpent",
    "PrivateBayesNetClassifier",
    "PrivateLinearRegression",
    "PrivateNaiveBayes",
]

from dpjax.sklearn.base import PrivacySpent
from dpjax.sklearn.classifiers import PrivateBayesNetClassifier, PrivateNaiveBayes
from dpjax.sklearn.regression import PrivateLinearRegression
