"""Linear regression from a private release of sums."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from dpjax.data.intervals import Interval
from dpjax.data.kinds import declared
from dpjax.posteriors import posterior
from dpjax.posteriors.hidden_totals.total_walk import refuse_few
from dpjax.privacy import REPLACE_ONE
from dpjax.sklearn.base import PrivateEstimator, without_cells
from dpjax.statistics import Sufficient


class PrivateLinearRegression(RegressorMixin, PrivateEstimator):
    """Bayesian linear regression from a private release, with the noise accounted for.

    Args:
        schema: public bounds of the columns of X, in order: a `dpjax.Schema`, a mapping
            from name to declaration, the path of a JSON file, or one `dpjax.Interval`
            that all columns are like. Values outside are clipped.
        bounds: public bounds of y, lower and upper. Values outside are clipped.
        epsilon: privacy loss of each `fit`.
        adjacency: "replace-one" or "add-remove".
        mechanism: as in `dpjax.release`.
        ledger: as for `PrivateNaiveBayes`.

    Attributes:
        coef_, intercept_: posterior means of slopes and intercept.
        n_features_in_, feature_names_in_: as in scikit-learn.
        released_: the release, which may be published.
        posterior_: the posterior, `dpjax.posterior(released_)`.

    Privacy:
        As for `PrivateNaiveBayes`.
    """

    def __init__(
        self,
        schema: Any = None,
        *,
        bounds: Any = None,
        epsilon: Any = None,
        adjacency: Any = None,
        mechanism: Any = "laplace",
        ledger: Any = None,
    ) -> None:
        self.schema = schema
        self.bounds = bounds
        self.epsilon = epsilon
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.ledger = ledger

    @property
    def _dtype(self) -> Any:
        return np.float64

    def fit(self, X: Any, y: Any) -> "PrivateLinearRegression":
        """Make a private release of sums over all records and infer the regression.

        Args:
            X: records, one row each: an array or a data frame of numbers.
            y: targets of the records.

        Privacy:
            As for `PrivateNaiveBayes.fit`.
        """
        X, y = self._fitted_to(X, y, y_numeric=True, ensure_min_samples=2)
        y = without_cells(np.asarray, y, float)
        lower, upper = self._bounds()
        variables = self._variables()
        target = "y"
        while target in variables:
            target += "_"
        over = (*variables.values(), declared(target, {"lower": lower, "upper": upper}))
        if not all(isinstance(variable, Interval) for variable in over):
            raise ValueError("`schema` must declare only numbers, by their bounds.")
        what = Sufficient.of("linear-regression", over, self.adjacency)
        if self.adjacency == REPLACE_ONE:  # the number of records is public
            family: Any = what.family
            refuse_few(len(y), family, "X")
        table = {**self._columns(X, [*variables]), target: y}
        self.released_ = self._released(what, table)
        self.posterior_ = posterior(self.released_)
        mean: Any = self.posterior_.mean()
        self.coef_ = np.asarray(mean["weights"], float)
        self.intercept_ = float(mean["intercept"])
        return self

    def _bounds(self) -> tuple[Any, Any]:
        try:
            lower, upper = self.bounds
        except (TypeError, ValueError):
            raise ValueError(
                "`bounds` must be the public bounds of y: (lower, upper)."
            ) from None
        return lower, upper

    def predict(self, X: Any) -> np.ndarray:
        """Return the expected target of each row of X, whose values are not clipped."""
        X = self._like_fitted(X)
        return np.asarray(self.posterior_.predict(X), float)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions for test records, which is not private."""
        return without_cells(super().score, X, y, sample_weight)
