"""Private fits as estimators of scikit-learn, a thin layer over :func:`dpbayes_bench.fits.fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpbayes_bench.accountant import Accountant
from dpbayes_bench.fits import Bounds, fit
from dpbayes_bench.private_fit import Privacy, PrivateFit


class _Private(BaseEstimator):
    """The common part of both estimators. A subclass sets its ``_model``."""

    _model: str

    def __init__(
        self,
        method: str,
        epsilon: float,
        delta: float,
        *,
        bounds: Bounds | None = None,
        n_public: int | None = None,
        schema: Any = None,
        settings: Mapping[str, Any] | None = None,
        accept: Sequence[str] = (),
        accountant: Accountant | None = None,
        random_state: int | None = None,
    ):
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_public = n_public
        self.schema = schema
        self.settings = settings
        self.accept = accept
        self.accountant = accountant
        self.random_state = random_state

    def _fit(self, X: Any, y: Any) -> None:
        self.fit_ = fit(
            X, y, model=self._model, method=self.method, epsilon=self.epsilon, delta=self.delta, bounds=self.bounds,
            n_public=self.n_public, schema=self.schema, settings=self.settings, accept=self.accept,
            accountant=self.accountant, random_state=self.random_state,
        )  # fmt: skip
        self.n_features_in_ = len(self.fit_.columns)

    @property
    def _fitted(self) -> PrivateFit:
        """The fit. Raises sklearn.exceptions.NotFittedError before there is one."""
        check_is_fitted(self, "fit_")
        return self.fit_

    @property
    def privacy_(self) -> Privacy:
        """The guarantee and its limits."""
        return self._fitted.privacy

    def score(self, X: Any, y: Any, *, rows_are_public: bool = False) -> float:
        """The score of scikit-learn on public rows: R squared, or the share of right classes.

        Raises ValueError unless ``rows_are_public``: a score of private rows is a release that no ledger counts.
        """
        if not rows_are_public:
            raise ValueError(
                "a score of private rows is a release that no ledger counts; give public rows and rows_are_public=True"
            )
        return super().score(X, y)  # type: ignore[misc]


class PrivateRegressor(_Private, RegressorMixin):
    """A private linear regression as an estimator of scikit-learn. Arguments are those of :func:`dpbayes_bench.fit`.

    ``fit_`` holds the ``PrivateFit``, and ``privacy_`` its guarantee. Do not put preprocessing that learns from private
    rows before it, such as ``StandardScaler``: no ledger would count that.
    """

    _model = "linear"

    def fit(self, X: Any, y: Any) -> PrivateRegressor:
        """Fit once."""
        self._fit(X, y)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predictive mean (n,), with ``return_std`` also the predictive standard deviation (n,)."""
        found = self._fitted.predict(X)
        return (found.mean, np.sqrt(found.variance)) if return_std else found.mean


class PrivateClassifier(_Private, ClassifierMixin):
    """A private logistic regression of two classes as an estimator of scikit-learn: 0 and 1, or those of a schema.

    Arguments are those of :func:`dpbayes_bench.fit`. ``fit_`` holds the ``PrivateFit``, ``privacy_`` its guarantee.
    """

    _model = "logistic"

    def fit(self, X: Any, y: Any) -> PrivateClassifier:
        """Fit once."""
        self._fit(X, y)
        self.classes_ = np.array([0, 1]) if self.schema is None else np.array(self.fit_.labels)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of class 0 and class 1, (n, 2)."""
        p = self._fitted.predict(X).probability
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class, (n,)."""
        return self.classes_[(self._fitted.predict(X).probability >= 0.5).astype(int)]
