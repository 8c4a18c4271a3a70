"""Rebuilds a posterior from its stored parameters, so that a new metric needs no new fit."""

from __future__ import annotations

import importlib

import numpy as np

from models import kind as registry


def load(kind: str, parameters: dict[str, np.ndarray]):
    """The posterior of a kind, by ``load`` of its class's module. Raises KeyError, which lists the known kinds."""
    known = registry.posteriors()
    if kind not in known:
        raise KeyError(f"unknown kind of posterior '{kind}'; models/ has {', '.join(sorted(known))}")
    return importlib.import_module(known[kind].__module__).load(kind, parameters)
