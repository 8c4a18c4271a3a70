"""The input of the accountants: a ledger whose releases of equal cost are merged into terms."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from privacy.ledger import Event, Mechanism, Relation, Sampling


class NotApplicable(ValueError):
    """This accountant does not cover these events; the message says why."""


@dataclass(frozen=True)
class Term:
    """``steps`` releases of equal cost.

    ``scheme`` is ``plain`` (no amplification), ``poisson``, ``poisson_replace`` (Poisson events under ADD_REMOVE in a
    ledger that is converted to REPLACE_ONE) or ``wor`` (without replacement).
    """

    mechanism: Mechanism
    multiplier: float
    steps: int
    scheme: str = "plain"
    rate: float = 1.0
    curve: tuple[tuple[float, float], ...] = ()


def checked_delta(delta: float, pure: bool = False) -> float:
    """``delta`` as a float. Raises ValueError outside of (0, 1); with ``pure``, 0 is allowed too."""
    if delta is None or not (0 < delta < 1 or (pure and delta == 0)):
        low = "of at least 0 and below 1" if pure else "between 0 and 1, both excluded"
        raise ValueError(f"delta = {delta}: give a number {low}")
    return float(delta)


def key_of(e: Event) -> tuple:
    """Everything that the cost of an event depends on. Events of different fits with equal keys share a computation."""
    scale = e.noise_scale, e.sensitivity
    if e.mechanism in (Mechanism.GAUSSIAN, Mechanism.LAPLACE, Mechanism.EXPONENTIAL):
        scale = (e.noise_multiplier if math.isfinite(e.sensitivity) else 0.0), 1.0
    return (e.mechanism, e.relation, e.sampling, scale, e.sampling_rate, int(e.steps), e.renyi_curve)


def terms_of(keys: tuple) -> tuple[Relation, tuple[str, ...], list[Term]]:
    """(relation of the guarantee, conversions made, terms) for at least one key of :func:`key_of`.

    Raises :class:`NotApplicable` for a written bound that would have to be converted to another relation.
    """
    relations = {k[1] for k in keys}
    mixed = len(relations) > 1
    target = Relation.REPLACE_ONE if mixed else next(iter(relations))
    notes: dict[str, None] = {}
    if mixed:
        notes["several relations in one ledger: read under replace_one, distances of the other events doubled"] = None
    merged: dict[Term, int] = {}
    for mechanism, relation, sampling, (scale, _), rate, steps, curve in keys:
        convert = relation is not target
        if steps == 0 or (mechanism is not Mechanism.WRITTEN_BOUND and scale == math.inf):
            continue
        if mechanism is Mechanism.WRITTEN_BOUND:
            if convert:
                raise NotApplicable("a written bound cannot be converted to another neighbouring relation")
            term = Term(mechanism, math.nan, 0, curve=curve)
        else:
            scheme, multiplier = "plain", scale / 2 if convert else scale
            if sampling is Sampling.POISSON and rate < 1:
                if relation is Relation.REPLACE_ONE:
                    notes["Poisson sampling under replace_one: no amplification counted"] = None
                elif convert:
                    scheme, multiplier = "poisson_replace", scale
                else:
                    scheme = "poisson"
            elif sampling is Sampling.SHUFFLED_EPOCHS and rate < 1:
                notes["secret permutation: charged as a public order, which is an upper bound"] = None
            elif sampling is Sampling.WITHOUT_REPLACEMENT and rate < 1:
                if relation is Relation.ADD_REMOVE:
                    notes["sampling without replacement under add_remove: no amplification, distance doubled"] = None
                    multiplier = scale / 2
                else:
                    scheme = "wor"
            term = Term(mechanism, multiplier, 0, scheme, rate if scheme != "plain" else 1.0)
        merged[term] = merged.get(term, 0) + steps
    terms = [Term(t.mechanism, t.multiplier, s, t.scheme, t.rate, t.curve) for t, s in merged.items()]
    return target, tuple(notes), terms


@contextmanager
def third_party() -> Iterator[None]:
    """Silence the known numerical and syntax warnings of the accounting libraries while they run."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        for category in (RuntimeWarning, SyntaxWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        log = logging.getLogger("absl")  # dp-accounting logs there each fractional order that it leaves out
        level = log.level
        log.setLevel(logging.ERROR)
        try:
            yield
        finally:
            log.setLevel(level)
