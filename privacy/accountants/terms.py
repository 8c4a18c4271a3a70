"""The input of the accountants: a ledger whose releases of equal cost are merged into terms.

This module proves the bounds that are not taken from a library. For two schemes it gives the pair of distributions that
bounds a release, and at last it converts written Renyi bounds. Write H_a(P, Q) for the integral of
max(P(x) - a Q(x), 0) over x, with the densities of P and Q. A pair dominates a release if, for every a >= 0 and all
neighbours, its H_a is at least that of the release. Dominating pairs compose, also adaptively (Zhu, Dong & Wang 2022,
theorem 10). H_a is jointly convex, so it suffices to bound it given all choices that the neighbours share.

Below, f is the released quantity without noise, g the density of the noise N(0, s^2 I), and q the sampling rate.

**Poisson batches under REPLACE_ONE** (``poisson_replace``)

If the row that differs is in a batch, it moves f by a vector of norm at most c. This pair dominates:

    P* = (1 - q) N(0, s^2) + q N(c, s^2)   and   Q* = (1 - q) N(0, s^2) + q N(-c, s^2).

Proof. Fix the batch of all other rows, and measure f from its value there. With probability q the differing row moves f
by v on one table, and by w on the other. For a >= 1 and b = (a - 1) (1 - q) / q,

    P(x) - a Q(x) = q (g(x - v) - b g(x) - a g(x - w)),   so   H_a(P, Q) = q E max(1 - b L - a M, 0)

with L = g(X) / g(X - v), M = g(X - w) / g(X - v), and X of density g(x - v). L and M are lognormal with mean 1. The
standard deviations of their logarithms are |v| / s <= c / s and |v - w| / s <= 2 c / s. Let L* and M* be lognormal with
mean 1 and deviations c / s and 2 c / s, both increasing functions of one standard normal Z. At some value of Z the sum
b L* + a M* crosses 1. Let l and m be b L* and a M* there, so that l + m = 1. Then

    E max(1 - b L* - a M*, 0) = E max(l - b L*, 0) + E max(m - a M*, 0)
                             >= E max(l - b L, 0) + E max(m - a M, 0)  >=  E max(1 - b L - a M, 0).

The first step holds because all three brackets change sign at the same Z. The second holds because a lognormal of mean
1 grows in convex order with its deviation. L* and M* are the ratios for v = c and w = -c on a line, so the left side is
H_a(P*, Q*) / q. For a < 1, H_a(P, Q) = 1 - a + a H_(1/a)(Q, P). The bound just proved also holds for (Q, P), and
H_(1/a)(Q*, P*) = H_(1/a)(P*, Q*) by symmetry.

**Batches of a fixed size without replacement under ADD_REMOVE** (``poisson``; Zhu, Dong & Wang 2022, theorem 11)

Batches have m rows on both tables, the larger table has n > m rows, and q = m / n. If one row of a batch is exchanged
for another, f moves by at most D, which is at most twice the sensitivity under ADD_REMOVE. The pair of Poisson sampling
at distance D dominates a removal, and its reverse dominates an addition:

    P* = (1 - q) N(0, s^2) + q N(D, s^2)   and   Q* = N(0, s^2).

Proof. Draw m - 1 rows T and then one more row y, all from the smaller table. T with y is a batch of the smaller table.
Let x be the extra row of the larger table. With probability 1 - q a batch of that table lacks x, and then it has the
same distribution as T with y. With probability q it is T with x. Given T and y, the release on the smaller table is
N(f(T, y), s^2 I). On the larger table it is a mixture of that and N(f(T, x), s^2 I), with weights 1 - q and q. The two
means are at most D apart. If they are closer, scaling the pair for D and adding noise gives theirs, which cannot raise
H_a. For sums, the bound is attained if x contributes D / 2 and every other row -D / 2.

**Written bounds under REPLACE_ONE** (``_of_a_replacement``)

A bound b on the Renyi divergence of order 2 a > 2 under ADD_REMOVE gives (2 a - 3/2) / (a - 1) b at order a. Proof. Let
P and Q be the releases on two tables that differ in one row, and R that on the table without it. By the weak triangle
inequality (Mironov 2017, corollary 4),

    D_a(P, Q) <= (a - 1/2) / (a - 1) D_2a(P, R) + D_(2a - 1)(R, Q),

and D_(2a - 1) is at most D_2a, which is at most b in both directions.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from privacy.ledger import Event, Mechanism, Relation, Sampling


class NotApplicable(ValueError):
    """This accountant does not cover these events; the message says why."""


@dataclass(frozen=True)
class Term:
    """``steps`` releases of equal cost.

    ``multiplier`` : noise over the distance that one row can move a release under the relation of the guarantee.
    ``scheme`` : ``plain`` (no amplification), ``poisson`` (under ADD_REMOVE, also for batches without replacement),
        ``poisson_replace`` (Poisson batches under REPLACE_ONE) or ``wor`` (without replacement under REPLACE_ONE).
    ``contribution_multiplier`` : noise over the norm of one row's contribution, for ``poisson_replace`` only.
    """

    mechanism: Mechanism
    multiplier: float
    steps: int
    scheme: str = "plain"
    rate: float = 1.0
    curve: tuple[tuple[float, float], ...] = ()
    contribution_multiplier: float = 0.0


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
    share = e.relative_contribution
    clipped = share is not None and e.mechanism is Mechanism.GAUSSIAN and e.relation is Relation.REPLACE_ONE
    own = scale[0] / share if clipped and e.sampling is Sampling.POISSON else 0.0
    return (e.mechanism, e.relation, e.sampling, scale, e.sampling_rate, int(e.steps), e.renyi_curve, own)


def terms_of(keys: tuple, wanted: Relation | None = None) -> tuple[Relation, tuple[str, ...], list[Term]]:
    """(relation of the guarantee, conversions made, terms) for at least one key of :func:`key_of`.

    ``wanted``: REPLACE_ONE, or None for the relation of the ledger.

    Raises :class:`NotApplicable` for a written bound without an order above 2 that would have to be converted.
    """
    relations = {k[1] for k in keys}
    mixed = len(relations) > 1
    target = wanted or (Relation.REPLACE_ONE if mixed else next(iter(relations)))
    notes: dict[str, None] = {}
    if mixed:
        notes["several relations in one ledger: read under replace_one, distances of the other events doubled"] = None
    elif relations != {target}:
        notes["events under add_remove, read under replace_one: distances doubled"] = None
    merged: dict[Term, int] = {}
    for mechanism, relation, sampling, (scale, _), rate, steps, curve, own in keys:
        convert = relation is not target
        if steps == 0 or (mechanism is not Mechanism.WRITTEN_BOUND and scale == math.inf):
            continue
        if mechanism is Mechanism.WRITTEN_BOUND:
            if convert:
                curve = _of_a_replacement(curve)
                notes["written bound under add_remove: by way of the table without the row"] = None
            term = Term(mechanism, math.nan, 0, curve=curve)
        else:
            scheme, doubled = "plain", convert
            if convert:
                own = scale  # under ADD_REMOVE the sensitivity is the norm of the contribution
            if sampling is Sampling.POISSON and rate < 1:
                if target is Relation.ADD_REMOVE:
                    scheme = "poisson"
                elif own:
                    scheme = "poisson_replace"
                else:
                    notes["Poisson sampling under replace_one, contribution not stated: no amplification"] = None
            elif sampling is Sampling.SHUFFLED_EPOCHS and rate < 1:
                notes["secret permutation: charged as a public order, which is an upper bound"] = None
            elif sampling is Sampling.WITHOUT_REPLACEMENT and rate < 1:
                scheme = "poisson" if target is Relation.ADD_REMOVE else "wor"
                if relation is Relation.ADD_REMOVE:
                    notes["sampling without replacement under add_remove: distance doubled"] = None
                    doubled = True
            multiplier, rate = scale / 2 if doubled else scale, 1.0 if scheme == "plain" else rate
            own = own if scheme == "poisson_replace" else 0.0
            term = Term(mechanism, multiplier, 0, scheme, rate, contribution_multiplier=own)
        merged[term] = merged.get(term, 0) + steps
    return target, tuple(notes), [replace(t, steps=s) for t, s in merged.items()]


def _of_a_replacement(curve: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """A written bound under ADD_REMOVE as one under REPLACE_ONE, at half of each order above 2."""
    half = tuple((a / 2, (a - 1.5) / (a / 2 - 1) * bound) for a, bound in curve if a > 2)
    if not half:
        raise NotApplicable("a written bound without an order above 2 cannot be converted to another relation")
    return half


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
