"""Classifiers: naive Bayes, and a Bayesian network with any public graph."""

import abc
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from dpjax.data.bayes_net import BayesNet
from dpjax.data.levels import Variable
from dpjax.data.mixed_net import MixedNet, network_from
from dpjax.data.schema import Schema
from dpjax.posteriors import posterior
from dpjax.sklearn.base import PrivateEstimator, without_cells

OF_Y = "of-y"


class _PrivateClassifier(ClassifierMixin, PrivateEstimator):
    def __init__(
        self,
        schema: Any = None,
        *,
        classes: Any = None,
        epsilon: Any = None,
        adjacency: Any = None,
        mechanism: Any = "laplace",
        ledger: Any = None,
        target: Any = "class",
    ) -> None:
        self.schema = schema
        self.classes = classes
        self.epsilon = epsilon
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.ledger = ledger
        self.target = target

    @abc.abstractmethod
    def _network(self, schema: Schema) -> BayesNet | MixedNet:
        """Return the public network of all columns and the target."""

    def fit(self, X: Any, y: Any) -> "_PrivateClassifier":
        """Make a private release of all records and infer the classifier from it.

        Args:
            X: records, one row each: an array or a data frame.
            y: classes of the records.

        Privacy:
            The release costs `epsilon` under `adjacency`, for one row of (X, y). Each
            call makes a new one, also in `cross_val_score`: the costs add up, and a
            `PrivacySpent` warning says so.
        """
        X, y = self._fitted_to(X, y)
        labels, codes = self._coded(y)
        variables = self._variables()
        target = self.target
        while target in variables:
            target += "_"
        of_target = Variable(target, tuple(range(len(labels))))
        names = [*variables]
        self.network_ = self._network(Schema([*variables.values(), of_target]))
        table = {**self._columns(X, names), target: codes}
        self.released_ = self._released(self.network_, table)
        self.posterior_ = posterior(self.released_)
        self.classes_, self._target = labels, target
        return self

    def _coded(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes in order, and for each of y which of them it is."""
        with contextlib.suppress(TypeError):  # its message may show what cells are
            check_classification_targets(y)
            labels = self._labels(y)
            codes = np.searchsorted(labels, y)
            wrong = labels[np.minimum(codes, len(labels) - 1)] != y
            if wrong.any():
                raise ValueError(
                    "`y` must hold only `classes`, but some class is another."
                )
            return labels, codes
        raise ValueError(
            "`y` and `classes` must hold only text or only numbers, but some class is "
            "neither, such as None: leave its row out."
        )

    def _labels(self, y: np.ndarray) -> np.ndarray:
        if self.classes is None:
            raise ValueError(
                "`classes` must list the public classes, or be 'of-y' if it is public "
                "which classes are in y."
            )
        public = isinstance(self.classes, str) and self.classes == OF_Y
        labels = np.unique(y if public else np.asarray(self.classes))
        if len(labels) < 2:
            raise ValueError(
                f"`classes` must be at least two, got {len(labels)} class."
            )
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the predictive probability of each of `classes_` for each row of X."""
        X = self._like_fitted(X)
        names = [name for name in self.network_.names if name != self._target]
        table = self._columns(X, names)
        found = np.asarray(self.posterior_.predict_proba(table, self._target), float)
        return found / found.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probabilities of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row of X."""
        found = self.predict_proba(X).argmax(axis=1)
        return self.classes_[found]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of predictions for test records, which is not private."""
        return without_cells(super().score, X, y, sample_weight)


class PrivateNaiveBayes(_PrivateClassifier):
    """Naive Bayes from a private release, with the noise accounted for.

    Args:
        schema: public declaration of the columns of X, in order: a `dpjax.Schema`, a
            mapping from name to declaration, the path of a JSON file, or one variable
            that all columns are like. A number without bins (`dpjax.Interval`) is
            normal in each class.
        classes: all classes, which are public; "of-y" if it is public which are in y.
        epsilon: privacy loss of each `fit`.
        adjacency: "replace-one" or "add-remove".
        mechanism: as in `dpjax.release`.
        ledger: a `dpjax.Ledger`, which clones share, or the path of its file, which
            processes may share too; None: nobody adds up what is spent.
        target: name of the class in the release.

    Attributes:
        classes_, n_features_in_, feature_names_in_: as in scikit-learn.
        released_: the release, which may be published.
        posterior_: the posterior, `dpjax.posterior(released_)`.

    Privacy:
        See `fit`. Predictions cost nothing. `score` and the results of
        cross-validation depend on test records without noise: they are not private.
    """

    def _network(self, schema: Schema) -> BayesNet | MixedNet:
        *features, target = schema
        return network_from(schema, {target: [], **{x: [target] for x in features}})


class PrivateBayesNetClassifier(_PrivateClassifier):
    """A classifier by a Bayesian network with a public graph, from a private release.

    Args:
        schema: as for `PrivateNaiveBayes`.
        parents: the names of the parents of each variable, by its name; the class has
            the name `target`. Variables that are not named have no parents.
        classes: as for `PrivateNaiveBayes`, and so are all further parameters.

    Attributes:
        classes_, n_features_in_, feature_names_in_, released_, posterior_: as for
            `PrivateNaiveBayes`.

    Privacy:
        As for `PrivateNaiveBayes`. The graph must not have been chosen by the records.
    """

    def __init__(
        self,
        schema: Any = None,
        *,
        parents: Any = None,
        classes: Any = None,
        epsilon: Any = None,
        adjacency: Any = None,
        mechanism: Any = "laplace",
        ledger: Any = None,
        target: Any = "class",
    ) -> None:
        super().__init__(
            schema,
            classes=classes,
            epsilon=epsilon,
            adjacency=adjacency,
            mechanism=mechanism,
            ledger=ledger,
            target=target,
        )
        self.parents = parents

    def _network(self, schema: Schema) -> BayesNet | MixedNet:
        if not isinstance(self.parents, Mapping):
            raise ValueError(
                "`parents` must be given: a mapping from a variable's name to the "
                "names of its parents."
            )
        nothing: dict[str, Sequence[str]] = {name: [] for name in schema}
        return network_from(schema, {**nothing, **self.parents})
