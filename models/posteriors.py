"""Rebuild a posterior from its stored parameters, so that a new metric re-runs no fit."""

from __future__ import annotations

import importlib

import numpy as np

#: kind of posterior -> module that defines a function ``load(kind, parameters)``.
_HOME = {
    "network_moments": "models.bnn_regression",
    "network_monte_carlo": "models.bnn_regression",
    "network_ensemble": "models.bnn_regression",
    "classifier_mean_field": "models.bnn_classification",
    "classifier_point": "models.bnn_classification",
    "linear_gaussian": "models.linear_regression",
    "constant_gaussian": "models.linear_regression",
    "logistic_sample": "models.logistic_regression",
    "parameter_sample": "models.exponential_family",
    "mixture_means": "models.mixture_of_gaussians",
    "mixture_parameters": "models.mixture_of_gaussians",
    "unconstrained_gaussian": "models.unconstrained",
    "unconstrained_draws": "models.unconstrained",
    "conjugate_posterior": "models.conjugate_simulators",
    "normal_inverse_gamma": "models.linear_regression_unknown_noise",
    "normal_times_inverse_gamma": "models.linear_posteriors",
    "normal_times_log_normal": "models.linear_posteriors",
    "trace_posterior": "models.noise_aware",
    "sampled_trace": "models.noise_aware",
    "framed": "models.framed",
    "mixture_regression": "models.mixture_regression",
    "logistic_gaussian": "models.bounded_logistic",
    "logistic_point": "models.bounded_logistic",
}


def load(kind: str, parameters: dict[str, np.ndarray]):
    """The posterior of that kind. Raises KeyError that lists the known kinds."""
    if kind not in _HOME:
        raise KeyError(f"unknown kind of posterior '{kind}'; models/posteriors.py knows {', '.join(sorted(_HOME))}")
    return importlib.import_module(_HOME[kind]).load(kind, parameters)
