"""The base of all estimators: public declarations, budgets, and checks of arrays."""

import os
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpjax.data import sources
from dpjax.data.categorical import Categorical
from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable, declared
from dpjax.data.schema import Schema
from dpjax.posteriors import posterior
from dpjax.privacy import REPLACE_ONE, Ledger, in_words
from dpjax.releases.publish import release
from dpjax.releases.released import Released

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import validation
except Exception:  # absent or broken
    raise ImportError('this needs scikit-learn: pip install "dpjax[sklearn]"') from None

_TELLING = re.compile(
    r"`|Input .* contains|Found (array|input)|X (has|does) |This \w+ estimator|"
    r"y should be a 1d|Sparse data|np\.matrix|(The f|F)eature names|Unknown label type"
)
"""Starts of messages that show names and shapes, but no cell."""

_ROWS = re.compile(
    r"(?<=\(shape=\()\d+|, got an array of shape \([^)]*\)( instead)?|: \[[^]]*\]$"
)
"""Numbers of rows in scikit-learn's messages."""

_QUOTING = {
    "Expected 2D": "`X` must be a table: Expected 2D array. Reshape your data by "
    "`X.reshape(-1, 1)` if it is a column, or by `X.reshape(1, -1)` if it is a row.",
    "Expected a 2-dim": "`X` must be a table: Expected 2D array. Reshape your data by "
    "`X.to_frame()` if it is a column, or by `X.to_frame().T` if it is a row.",
    "Complex data": "`X` and `y` must hold real numbers: Complex data not supported, "
    "give real and imaginary parts as columns of their own.",
    "": "`X` and `y` must hold numbers or declared levels (each argument must be a "
    "string or a number), but some cell is neither: correct it, or leave its row out.",
}
"""What is said in place of scikit-learn's messages that may show cells, by start."""


class PrivacySpent(UserWarning):
    """Says what a call of `fit` spends: each call makes a release of its own."""


class PrivateEstimator(BaseEstimator):
    """What all estimators have in common; see them for the parameters."""

    schema: Any
    epsilon: Any
    adjacency: Any
    mechanism: Any
    ledger: Any
    n_features_in_: int
    posterior_: Any

    def _released(self, what: Any, table: Mapping[str, np.ndarray]) -> Released:
        """Charge the ledger, release a table, and say what is spent."""
        for name in ("epsilon", "adjacency"):
            if getattr(self, name) is None:
                raise ValueError(f"`{name}` must be given to fit, got None.")
        ledger = self.ledger
        if isinstance(ledger, str | os.PathLike):
            ledger = Ledger(adjacency=self.adjacency, path=ledger)
        released = release(
            what,
            table,
            epsilon=self.epsilon,
            adjacency=self.adjacency,
            mechanism=self.mechanism,
            ledger=ledger,
        )
        left = "no ledger adds up what other calls spend"
        if ledger is not None:
            left = in_words(ledger.limit.remaining(ledger.cost))
            left = f"the ledger has {left} left of {ledger.limit}"
        warnings.warn(
            f"{type(self).__name__}.fit spends {released.guarantee()}; {left}.",
            PrivacySpent,
            stacklevel=3,
        )
        return released

    def _variables(self) -> dict[str, AnyVariable]:
        """Return the declared variable of each column, by its name."""
        if isinstance(self.schema, Categorical | Interval):
            return {name: _renamed(self.schema, name) for name in self._names()}
        schema = self.schema
        if isinstance(schema, str | os.PathLike):
            schema = Schema.from_json(schema)
        if not isinstance(schema, Mapping):
            raise ValueError(
                "`schema` must declare the columns by public facts: give a "
                "`dpjax.Schema`, or one variable for all columns."
            )
        if getattr(schema, "impossible", ()):
            raise ValueError("`schema` must have no impossible combinations to fit.")
        variables = {name: declared(name, schema[name]) for name in schema}
        if len(variables) != self.n_features_in_:
            raise ValueError(
                f"`schema` must declare every column of X, got {len(variables)} "
                f"variables for {self.n_features_in_} columns."
            )
        found = getattr(self, "feature_names_in_", None)
        if found is not None and [*found] != [*variables]:
            raise ValueError("`schema` must declare the columns of X in their order.")
        return variables

    def _names(self) -> list[str]:
        unnamed = [f"x{i}" for i in range(self.n_features_in_)]
        return [*getattr(self, "feature_names_in_", unnamed)]

    def _fitted_to(self, X: Any, y: Any, **options: Any) -> tuple[Any, np.ndarray]:
        """Check X and y as scikit-learn does; return the columns of X and y.

        The number of rows is private, unless the adjacency is replace-one: any number
        is accepted, and no error shows it.
        """
        _refuse_rounded(X)
        _refuse_rounded(y)
        if self.adjacency == REPLACE_ONE:
            return _validated(self, X, y, dtype=self._dtype, **options)
        options["ensure_min_samples"] = 0
        try:
            return _validated(self, X, y, dtype=self._dtype, **options)
        except ValueError as error:
            text = _ROWS.sub("", str(error))
        raise ValueError(text)

    def _like_fitted(self, X: Any) -> Any:
        """Check that X is like the X of `fit`, which must have been called."""
        validation.check_is_fitted(self, "released_")
        return _validated(self, X, reset=False, dtype=self._dtype)

    @property
    def _dtype(self) -> Any:
        """The type of X: float if all columns are numbers, so that text is refused."""
        return np.float64 if hasattr(self.schema, "lower") else None

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.non_deterministic = True  # as private noise is
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"non_deterministic": True}

    def __getstate__(self) -> dict[str, Any]:
        found: Any = super().__getstate__()
        state = dict(found)
        if "released_" in state:
            state["released_"] = state["released_"].to_text()
            del state["posterior_"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "released_"):
            self.released_ = Released.from_text(state["released_"])
            self.posterior_ = posterior(self.released_)

    def _columns(self, X: np.ndarray, names: Any) -> dict[str, np.ndarray]:
        return dict(zip(names, np.asarray(X).T, strict=True))


def _refuse_rounded(given: Any) -> None:
    """Refuse a frame of a pandas that may have rounded its numbers, as `release`."""
    if sources.may_round(given):
        columns = given.items() if given.ndim == 2 else [("y", given)]
        for name, column in columns:
            sources.read_numbers({name: column}, name)


def _renamed(variable: AnyVariable, name: str) -> AnyVariable:
    return declared(name, variable.to_json())


def _validated(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """Call scikit-learn's check, which was a method before version 1.6."""
    found = getattr(validation, "validate_data", None)
    if found is None:
        return without_cells(estimator._validate_data, *arrays, **options)
    return without_cells(found, estimator, *arrays, **options)


def without_cells(check: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Call a check of records, whose errors and their contexts then show no cell."""
    try:
        return check(*given, **options)
    except NotFittedError:
        raise
    except Exception as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        text = str(error)
    if not _TELLING.match(text):
        text = next(x for start, x in _QUOTING.items() if text.startswith(start))
    raise kind(text)
