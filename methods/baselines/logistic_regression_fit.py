"""Baseline: logistic regression with an L2 penalty chosen by cross-validation on the training rows, without privacy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.settings_checks import all_within, whole
from methods.contract import Constants, Fit, Role
from models.bounded_logistic import LogisticPoint
from models.task import Task
from privacy.budget import Budget


class LogisticRegressionFit(InFrame):
    """Penalised logistic regression by scikit-learn, a point estimate; the intercept is not penalised.

    The penalty has the best log-likelihood over the folds of a cross-validation. It is a prior precision and does not
    grow with n, so it is chosen on at most ``rows`` random training rows.
    """

    name = "logistic_regression_fit"
    title = "Logistic regression, penalised"
    reference = "scikit-learn, LogisticRegression; hastie2009elements, section 4.4"
    role = Role.YARDSTICK
    models = ("bounded_logistic_regression",)
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        #: prior precisions to choose from (choice of this suite)
        penalties: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0)
        folds: int = 5  #: of the cross-validation (choice of this suite)
        rows: int = 10_000  #: largest number of rows in the cross-validation (choice of this suite)

        def __post_init__(self) -> None:
            all_within("logistic_regression_fit", self, "(0, inf)", "penalties")
            whole("logistic_regression_fit", self, "folds", least=2)
            whole("logistic_regression_fit", self, "rows", least=10)

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a task without rows, with a class that is not 0 or 1, or with fewer rows of a class than
        folds.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import log_loss
        from sklearn.model_selection import StratifiedKFold

        from methods._shared.logistic_gaussian.posterior import signed

        signed(task)  # checks the rows
        y = task.y.astype(np.int64)
        chosen = rng.permutation(task.n)[: settings.rows]
        fewest = min(int((y[chosen] == k).sum()) for k in (0, 1))
        if fewest < settings.folds:
            raise ValueError(
                f"{task.name}: a class has {fewest} rows for {settings.folds} folds; lower folds, or give more rows"
            )

        def fitted(penalty: float, rows: np.ndarray):
            model = LogisticRegression(C=1.0 / penalty, solver="newton-cholesky", tol=1e-6, max_iter=200)
            return model.fit(task.x[rows], y[rows])

        losses = np.zeros(len(settings.penalties))
        for inside, outside in StratifiedKFold(settings.folds).split(chosen, y[chosen]):
            held = chosen[outside]
            for i, penalty in enumerate(settings.penalties):
                predicted = fitted(penalty, chosen[inside]).predict_proba(task.x[held])
                losses[i] += log_loss(y[held], predicted, normalize=False)
        penalty = settings.penalties[int(np.argmin(losses))]
        found = fitted(penalty, np.arange(task.n))
        theta = np.append(found.coef_[0], found.intercept_[0])
        return Fit(LogisticPoint(theta), budget.ledger, {"penalty": float(penalty)})
