"""Scorers: functions that score one fit on its test rows. A kind of model names the one it needs (``models.kind``).

Each takes a ``Case`` (``evaluation.case``) and returns metric -> (value, unit). Each raises ValueError if a number is
not finite. The caller turns that into a row with status ``diverged``.
"""

from __future__ import annotations

import numpy as np

from evaluation import mixture
from evaluation.case import Case
from evaluation.coverage import calibration_scores
from evaluation.intervals import coverage_scores
from evaluation.metrics import (
    categorical_scores,
    class_probability_scores,
    classification_scores,
    ranking_scores,
    rare_class_scores,
    regression_scores,
    scored,
)
from evaluation.posterior_sampling import heldout_scores
from models.mixture_of_gaussians import posterior_given_labels

Scores = dict[str, tuple[float, str]]


def regression(case: Case) -> Scores:
    """Error and log-likelihood of the test rows, and coverage of intervals if the experiment asks for it."""
    predictive = case.predictive()
    scores = regression_scores(predictive, case.test_y)
    return scores | (coverage_scores(predictive, case.test_y) if case.intervals else {})


def regression_with_intervals(case: Case) -> Scores:
    """Error, log-likelihood and coverage of predictive intervals of the test rows."""
    predictive = case.predictive()
    return regression_scores(predictive, case.test_y) | coverage_scores(predictive, case.test_y)


def classes(case: Case) -> Scores:
    """Error, log-likelihood and calibration of a prediction over several classes (``log_probabilities``)."""
    return categorical_scores(case.predictive().log_probabilities, case.test_y)


def class_probabilities(case: Case) -> Scores:
    """Error, log-likelihood and calibration for two classes, where ``mean`` is P(y = 1).

    If the experiment asks for it, AUC and Brier score are added, with balanced accuracy or average precision.
    """
    p = np.asarray(case.predictive().mean)
    found = class_probability_scores(p, case.test_y)
    if case.rare_class == "average_precision":
        return found | ranking_scores(p, case.test_y, int(np.mean(case.data.y) <= 0.5))
    return found | rare_class_scores(p, case.test_y) if case.rare_class else found


def released_weights(case: Case) -> Scores:
    """Error and log-likelihood of the test rows under the single released weight vector."""
    p = case.posterior.predictive(case.test_x)
    return classification_scores(p.margins, p.log_density(case.test_y), case.test_y)


def heldout_rows(case: Case) -> Scores:
    """Negative log-likelihood of the test rows under the single released parameter."""
    return heldout_scores(case.posterior.log_density(case.test_x))


def density(case: Case) -> Scores:
    """Log-density of the test rows."""
    return mixture.density_scores(case.posterior.log_density(case.test_x))


def mixture_of_gaussians(case: Case) -> Scores:
    """Density of the test rows. On simulated data, where the noise is known, the distance to the exact posterior.

    On data drawn as in the authors' code, it is the distance that the code computes. On data drawn as printed, it is
    the distance that the paper prints, and the density is given too (``evaluation.mixture``).

    Raises ValueError also if a covariance is not positive definite.
    """
    model, posterior = case.model, case.posterior
    try:
        found = mixture.density_scores(posterior.log_density(case.test_x))
        if model.noise_sd is None:
            return found
        x, labels = case.train_x, case.train_y
        truth = posterior_given_labels(model, x, labels)
        # The authors' code passes the prior's covariance to a sampler that takes a precision.
        program_truth = posterior_given_labels(model, x, labels, prior_precision=model.prior_variance)
        distances = mixture.posterior_scores(truth, program_truth, posterior)
        as_printed = not case.as_programmed
        left_out = mixture.PROGRAM if as_printed else mixture.PRINTED
        distances = {m: v for m, v in distances.items() if m not in left_out}
        order = mixture.match(truth.means, posterior.means)
        error = mixture.label_error(posterior.responsibilities(case.test_x), case.test_y, order)
    except np.linalg.LinAlgError as e:
        raise ValueError(f"a covariance of the fit is not positive definite ({e})") from e
    return {**distances, **(found if as_printed else {}), **scored(label_error=error)}


def fraction_nearer(case: Case) -> Scores:
    """The mean share of draws that are nearer to a reference than the true parameter is, over redraws of the reference.

    Coverage itself is computed from all data sets together (``evaluation.coverage.coverage_scores``).
    """
    return {"tarp_fraction": (float(np.mean(case.drawn)), "share")}


def drawn_probabilities(case: Case) -> Scores:
    """Error, log-likelihood and calibration of the test rows, with P(y = 1) from ``drawn``."""
    probability, y = case.drawn.astype(np.float64), case.test_y
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    scores = classification_scores(np.log(p / (1 - p)), np.where(y == 1, np.log(p), np.log1p(-p)), y)
    return scores | calibration_scores(probability, y)
