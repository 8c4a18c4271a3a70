"""Scorers, one function for each sort of model; a kind of model names its own (``models.kind``).

Each takes a ``Case`` (``evaluation.case``) and gives metric -> (value, unit). Each raises ValueError where a number is
not finite; the caller turns that into a row with status ``diverged``.
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
    rare_class_scores,
    regression_scores,
    scored,
)
from evaluation.posterior_sampling import heldout_scores
from models.mixture_of_gaussians import posterior_given_labels

Scores = dict[str, tuple[float, str]]


def regression(case: Case) -> Scores:
    """Error and log-likelihood of the test rows; coverage of intervals where the experiment asks for it."""
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
    """The same of a prediction over two classes, whose ``mean`` is P(y = 1); AUC and so on if they are asked for."""
    p = np.asarray(case.predictive().mean)
    found = class_probability_scores(p, case.test_y)
    return found | rare_class_scores(p, case.test_y) if case.rare_class else found


def released_weights(case: Case) -> Scores:
    """Error and log-likelihood of the test rows under the one weight vector that is released."""
    p = case.posterior.predictive(case.test_x)
    return classification_scores(p.margins, p.log_density(case.test_y), case.test_y)


def heldout_rows(case: Case) -> Scores:
    """Negative log-likelihood of the test rows under the one parameter that is released."""
    return heldout_scores(case.posterior.log_density(case.test_x))


def density(case: Case) -> Scores:
    """Log-density of the test rows."""
    return mixture.density_scores(case.posterior.log_density(case.test_x))


def mixture_of_gaussians(case: Case) -> Scores:
    """Density of the test rows; where the noise is known (simulated data), distance to the exact posterior instead.

    The distance follows from the distribution of the data: on that of the authors' code the one that it computes,
    on the printed distribution the one that the paper prints, with the density beside it (``evaluation.mixture``).

    Raises ValueError also where a covariance is not positive definite.
    """
    model, posterior = case.model, case.posterior
    try:
        found = mixture.density_scores(posterior.log_density(case.test_x))
        if model.noise_sd is None:
            return found
        x, labels = case.train_x, case.train_y
        truth = posterior_given_labels(model, x, labels)
        # The program hands the prior's covariance to a sampler that takes a precision.
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
    """Share of draws nearer to a reference than the true parameter, over the redraws of the reference.

    The coverage itself is a number of all data sets together (``evaluation.coverage.coverage_scores``).
    """
    return {"tarp_fraction": (float(np.mean(case.drawn)), "share")}


def drawn_probabilities(case: Case) -> Scores:
    """Error, log-likelihood and calibration of P(y = 1) of the test rows, which is in ``drawn``."""
    probability, y = case.drawn.astype(np.float64), case.test_y
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    scores = classification_scores(np.log(p / (1 - p)), np.where(y == 1, np.log(p), np.log1p(-p)), y)
    return scores | calibration_scores(probability, y)
