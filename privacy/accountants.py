"""Epsilon of a ledger, from several independent accountants.

The ledger holds facts; this file turns them into (epsilon, delta). Every accountant here gives an upper bound that
holds for the events as they are written, and :func:`epsilon_of` takes the smallest of the bounds that cover both
directions of the neighbouring relation.

==================== =======================================================================================
``gdp``              exact Gaussian composition, mu = sqrt(sum of steps x (sensitivity / scale)^2) (Dong, Roth & Su
                     2022, corollary 3.3; curve delta(epsilon) of Balle & Wang 2018, theorem 8). No amplification.
``pure``             sum of pure epsilons (Laplace releases only).
``autodp_rdp``       autodp: Renyi composition; Poisson: exact for the Gaussian at integer orders; without
                     replacement: general bound of Wang, Balle & Kasiviswanathan 2019, theorem 9.
``dp_accounting_rdp`` dp-accounting: Renyi composition (Mironov, Talwar & Zhang 2019; Wang et al. 2019, theorem 27).
``dp_accounting_pld`` dp-accounting: privacy loss distributions, pessimistic "connect the dots" grid (Doroshenko et
                     al. 2022).
``prv``              prv-accountant, upper end of its interval (Gopi, Lee & Wutschitz 2021). It follows one direction of
                     the relation (removal), so it is reported for comparison and never taken as the answer.
==================== =======================================================================================

Rules of conversion (each leaves a sentence in ``Cost.notes``):

- Without amplification (full batch, shuffled epochs, fixed partition) the bound depends on noise_scale / sensitivity
  and steps alone, under any relation, because the sensitivity is stated under that relation.
- Poisson sampling amplifies under ADD_REMOVE. Under REPLACE_ONE the declared sensitivity bounds the
  distance between two contributions but not their size, so no amplification is counted.
- Sampling without replacement amplifies under REPLACE_ONE. Under ADD_REMOVE a removal changes one row
  inside a batch of fixed size: no amplification, distance doubled.
- A ledger with several relations is read under REPLACE_ONE: a replacement is two moves, so the distance of the other
  events doubles; Poisson events under ADD_REMOVE keep their amplification in the PLD accountant (their
  contributions are bounded one by one). A written bound cannot be converted: epsilon is then infinite, with the reason.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

#: accountants in the order in which ties are resolved; the last one is never the answer (see the module's docstring)
NAMES = ("gdp", "pure", "dp_accounting_pld", "dp_accounting_rdp", "autodp_rdp", "prv")
_ONE_DIRECTION = frozenset({"prv"})
#: the accountants that :func:`epsilon_of` chooses from
BOUNDS = tuple(n for n in NAMES if n not in _ONE_DIRECTION)

# Grid of the PLD: points of one release, length of the composed grid, and the share of delta that rounding may cost
# before the grid is made coarser (a coarser pessimistic grid still gives an upper bound).
_PLD_POINTS = 150_000
_PLD_LENGTH = 400_000
_PLD_ROUNDING = 0.05
_PRV_POINTS = 200_000
_PRV_ERROR = 0.01
#: the smallest Renyi order that a library is asked for.
_LOWEST_ORDER = 1.1


class NotApplicable(ValueError):
    """This accountant does not cover these events; the message says why."""


@dataclass(frozen=True)
class Cost:
    """What a ledger costs.

    Attributes
    ----------
    epsilon, delta : the guarantee; epsilon is ``inf`` where a release has no noise or nothing bounds it.
    relation : neighbouring relation that the guarantee is for; None for an empty ledger.
    accountant : name of the accountant that gave the smallest bound, or ``"none: <reason>"``.
    all : every accountant asked: its epsilon, or the reason why it gave none.
    notes : conversions that were made (see the module's docstring).
    """

    epsilon: float
    delta: float
    relation: Relation | None
    accountant: str
    all: dict[str, float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Term:
    """``steps`` releases that the accountants treat alike. scheme: plain, poisson, poisson_replace, wor."""

    mechanism: Mechanism
    multiplier: float
    steps: int
    scheme: str = "plain"
    rate: float = 1.0
    curve: tuple[tuple[float, float], ...] = ()


# ---------------------------------------------------------------------------------------------------- public


def epsilon_of(ledger: Ledger, delta: float, only: Sequence[str] = BOUNDS) -> Cost:
    """Tightest valid epsilon of the ledger at ``delta``; see :class:`Cost`.

    Parameters
    ----------
    ledger : all events of one fit; an empty one costs epsilon = 0 (nothing that depends on a row was released).
    delta : in (0, 1).
    only : accountants to ask; by default all whose bound may be the answer.

    Raises
    ------
    ValueError : delta out of range, or an unknown accountant.
    """
    if unknown := set(only) - set(NAMES):
        raise ValueError(f"unknown accountants {sorted(unknown)}; give some of {', '.join(NAMES)}")
    keys = tuple(sorted(map(_key, ledger), key=repr))
    cost = _cost(keys, _checked_delta(delta), tuple(n for n in NAMES if n in set(only)))
    return replace(cost, all=dict(cost.all))  # the cached table stays as it is


def epsilons(ledger: Ledger, delta: float) -> dict[str, float | str]:
    """Every accountant's epsilon at ``delta``, or the reason why it gives none."""
    return epsilon_of(ledger, delta, NAMES).all


def renyi_curve(event: Event, orders: Sequence[int]) -> dict[str, np.ndarray]:
    """Renyi divergence bound of ALL steps of one event at integer ``orders`` >= 2, from each library that covers it.

    Curves of two correct libraries agree at integer orders (Poisson: both exact); their epsilons need not, because
    they interpolate and optimise over different orders.
    """
    orders = [int(a) for a in orders]
    if not orders or min(orders) < 2:
        raise ValueError(f"orders {orders}: give whole numbers of at least 2")
    _, _, terms = _terms((_key(event),))
    out: dict[str, np.ndarray] = {}
    for name, curve in (("autodp", _autodp_curve), ("dp_accounting", _dp_accounting_curve)):
        try:
            out[name] = sum(curve(t, np.array(orders, float)) for t in terms)
        except NotApplicable:
            continue
    return out


def renyi_divergence(ledger: Ledger, order: float) -> float:
    """Bound of the Renyi divergence of order ``order`` >= 1 (1: Kullback-Leibler) of all events together, nats.

    The sum over the events: written bounds from their curves, Gaussian and Laplace releases from dp-accounting. The
    divergence never falls with its order, so an order that a curve lacks (or 1, for a library) is answered by the next
    one above. ``inf`` where a release has no noise or no bound covers it. Raises ValueError for an order below 1.
    """
    check_order(order, "divergence")
    if not len(ledger):
        return 0.0
    try:
        _, _, terms = _terms(tuple(sorted(map(_key, ledger), key=repr)))
        return math.fsum(_divergence_at(t, float(order)) for t in terms)
    except NotApplicable:
        return math.inf


def check_order(order: float, what: str = "budget") -> None:
    """Raises ValueError for a Renyi order that is not a finite number of at least 1."""
    if not (1 <= order < math.inf):
        raise ValueError(
            f"{what}: Renyi order {order}; give a finite number of at least 1 (1 is the Kullback-Leibler divergence)"
        )


def gdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of a mu-GDP mechanism at delta: the root of Balle & Wang 2018, equation 6, rounded up.

    >>> round(gdp_epsilon(1.0, 1e-5), 6)
    4.377178
    """
    _checked_delta(delta)
    if mu == 0 or gdp_delta(mu, 0.0) <= delta:
        return 0.0
    if not math.isfinite(mu):
        return math.inf
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1e-9  # Gaussian tail bound: always enough
    root = brentq(lambda e: gdp_delta(mu, e) - delta, 0.0, high, xtol=1e-13 * max(1.0, high), rtol=1e-14)
    step = 1e-13 * max(1.0, root)
    while gdp_delta(mu, root) > delta:
        root, step = root + step, 2 * step
    return float(root)


def gdp_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of mu-GDP: Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)."""
    if mu == 0:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        return float(ndtr(mu / 2 - epsilon / mu) - np.exp(min(epsilon + log_ndtr(-epsilon / mu - mu / 2), 0.0)))


def gdp_mu(epsilon: float, delta: float) -> float:
    """Largest mu whose mu-GDP implies (epsilon, delta)-DP; the inverse of :func:`gdp_epsilon`, rounded down."""
    _checked_delta(delta)
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon = {epsilon}: give a finite number above 0")
    high = 1.0
    while gdp_delta(high, epsilon) <= delta:
        high *= 2
    mu = brentq(lambda m: gdp_delta(m, epsilon) - delta, 0.0, high, xtol=1e-15, rtol=1e-14)
    while gdp_delta(mu, epsilon) > delta:
        mu *= 1 - 1e-14
    return float(mu)


# -------------------------------------------------------------------------------------------- published claims


@lru_cache(maxsize=256)
def vinaroz_sigma(n_train: int, epochs: int, epsilon: float = 1.0, delta: float = 1e-5, releases: int = 2) -> float:
    """Noise multiplier that Vinaroz & Park's programs compute for DP-SEP: a CLAIM, not a guarantee.

    autodp's calibrator for the Gaussian mechanism: Renyi composition of ``releases x epochs x n_train`` steps, each
    amplified by sampling one of ``n_train`` rows without replacement (general bound, Wang et al. 2019, theorem 9),
    converted by epsilon = RDP(a) + log(1/delta) / (a - 1). The programs do not sample that way: see the findings.
    """
    with _third_party():
        from autodp import rdp_acct  # noqa: F401 - the calibrator fails on a circular import unless this comes first
        from autodp.privacy_calibrator import gaussian_mech

        return float(gaussian_mech(epsilon, delta, prob=1.0 / n_train, k=releases * epochs * n_train)["sigma"])


@lru_cache(maxsize=256)
def vinaroz_dpvi_epsilon(sigma: float, q: float, k: int, delta: float = 1e-5) -> float:
    """Epsilon that Vinaroz & Park's DP-VI program prints: a CLAIM (it passes the number of epochs as ``k``).

    Same bound and conversion as :func:`vinaroz_sigma`; ``q`` is batch size over number of rows.
    """
    with _third_party():
        from autodp import rdp_acct, rdp_bank

        acct = rdp_acct.anaRDPacct()
        acct.compose_subsampled_mechanism(lambda a: rdp_bank.RDP_gaussian({"sigma": sigma}, a), q, coeff=k)
        return float(acct.get_eps(delta))


# ------------------------------------------------------------------------------------------ ledger -> terms


def _checked_delta(delta: float) -> float:
    if delta is None or not (0 < delta < 1):
        raise ValueError(f"delta = {delta}: give a number between 0 and 1, both excluded")
    return float(delta)


def _key(e: Event) -> tuple:
    """What the cost depends on: no words, so that equal events of different fits share one computation."""
    scale = e.noise_scale, e.sensitivity
    if e.mechanism in (Mechanism.GAUSSIAN, Mechanism.LAPLACE):
        scale = (e.noise_multiplier if math.isfinite(e.sensitivity) else 0.0), 1.0
    return (e.mechanism, e.relation, e.sampling, scale, e.sampling_rate, int(e.steps), e.renyi_curve)


def _terms(keys: tuple) -> tuple[Relation, tuple[str, ...], list[_Term]]:
    relations = {k[1] for k in keys}
    mixed = len(relations) > 1
    target = Relation.REPLACE_ONE if mixed else next(iter(relations))
    notes: dict[str, None] = {}
    if mixed:
        notes["several relations in one ledger: read under replace_one, distances of the other events doubled"] = None
    merged: dict[_Term, int] = {}
    for mechanism, relation, sampling, (scale, _), rate, steps, curve in keys:
        convert = relation is not target
        if steps == 0 or (mechanism is not Mechanism.WRITTEN_BOUND and scale == math.inf):
            continue
        if mechanism is Mechanism.WRITTEN_BOUND:
            if convert:
                raise NotApplicable("a written bound cannot be converted to another neighbouring relation")
            term = _Term(mechanism, math.nan, 0, curve=curve)
        else:
            scheme, multiplier = "plain", scale / 2 if convert else scale
            if sampling is Sampling.POISSON and rate < 1:
                if relation is Relation.REPLACE_ONE:
                    notes["Poisson sampling under replace_one: no amplification counted"] = None
                elif convert:
                    scheme, multiplier = "poisson_replace", scale
                else:
                    scheme = "poisson"
            elif sampling is Sampling.WITHOUT_REPLACEMENT and rate < 1:
                if relation is Relation.ADD_REMOVE:
                    notes["sampling without replacement under add_remove: no amplification, distance doubled"] = None
                    multiplier = scale / 2
                else:
                    scheme = "wor"
            term = _Term(mechanism, multiplier, 0, scheme, rate if scheme != "plain" else 1.0)
        merged[term] = merged.get(term, 0) + steps
    terms = [_Term(t.mechanism, t.multiplier, s, t.scheme, t.rate, t.curve) for t, s in merged.items()]
    return target, tuple(notes), terms


@lru_cache(maxsize=4096)
def _cost(keys: tuple, delta: float, names: tuple[str, ...]) -> Cost:
    if not keys:
        return Cost(0.0, delta, None, "none: the ledger is empty, nothing private was released")
    try:
        relation, notes, terms = _terms(keys)
    except NotApplicable as why:
        return Cost(math.inf, delta, Relation.REPLACE_ONE, f"none: {why}", dict.fromkeys(names, str(why)))
    if not terms:
        return Cost(0.0, delta, relation, "none: no event depends on a row", dict.fromkeys(names, 0.0), notes)
    bare = any(
        t.mechanism is Mechanism.NO_NOISE or (t.mechanism is not Mechanism.WRITTEN_BOUND and t.multiplier == 0)
        for t in terms
    )
    if bare:
        why = "none: private numbers are released without noise"
        return Cost(math.inf, delta, relation, why, dict.fromkeys(names, math.inf), notes)
    found: dict[str, float | str] = {}
    for name in names:
        try:
            found[name] = float(_ACCOUNTANTS[name](terms, delta))
        except NotApplicable as why:
            found[name] = f"not applicable: {why}"
        except Exception as error:
            # A fault inside one library must not hide the bounds of the others; it stands in the table as a reason.
            found[name] = f"failed: {type(error).__name__}: {error}"
    valid = {n: e for n, e in found.items() if not isinstance(e, str) and n not in _ONE_DIRECTION and not math.isnan(e)}
    if not valid:
        return Cost(math.inf, delta, relation, "none: no accountant covers these events", found, notes)
    best = min(valid, key=valid.get)
    return Cost(max(valid[best], 0.0), delta, relation, best, found, notes)


# -------------------------------------------------------------------------------------------- the accountants


@contextmanager
def _third_party() -> Iterator[None]:
    """Silence the known numerical and syntax warnings of the accounting libraries, and only while they run."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        for category in (RuntimeWarning, SyntaxWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        log = logging.getLogger("absl")  # dp-accounting tells there about each fractional order that it leaves out
        level = log.level
        log.setLevel(logging.ERROR)
        try:
            yield
        finally:
            log.setLevel(level)


def _gdp(terms: list[_Term], delta: float) -> float:
    square = 0.0
    for t in terms:
        if t.mechanism is not Mechanism.GAUSSIAN:
            raise NotApplicable(f"covers Gaussian releases, not {t.mechanism.value}")
        # Sampling ignored: a mixture over batches is dominated by its worst pair of batches (quasi-convexity).
        multiplier = t.multiplier / 2 if t.scheme == "poisson_replace" else t.multiplier
        square += t.steps / multiplier**2
    return gdp_epsilon(math.sqrt(square), delta)


def _pure(terms: list[_Term], delta: float) -> float:
    total = 0.0
    for t in terms:
        if t.mechanism is not Mechanism.LAPLACE:
            raise NotApplicable(f"{t.mechanism.value} gives no pure epsilon")
        one = 1 / t.multiplier * (2 if t.scheme == "poisson_replace" else 1)
        total += t.steps * (math.log1p(t.rate * math.expm1(one)) if t.scheme == "poisson" else one)
    return total


def _autodp_mechanism(t: _Term):
    from autodp import mechanism_zoo, transformer_zoo

    if t.mechanism is Mechanism.LAPLACE:
        if t.scheme != "plain":
            raise NotApplicable("sampled Laplace releases: see dp_accounting_pld and pure")
        return mechanism_zoo.LaplaceMechanism(b=t.multiplier)
    if t.mechanism is not Mechanism.GAUSSIAN:
        raise NotApplicable(f"{t.mechanism.value} is not a mechanism of this library")
    base = mechanism_zoo.GaussianMechanism(sigma=t.multiplier)
    if t.scheme == "plain":
        return base
    if t.scheme == "poisson":
        return transformer_zoo.AmplificationBySampling(PoissonSampling=True)(base, t.rate, improved_bound_flag=True)
    if t.scheme == "wor":
        base.neighboring = "replace_one"
        return transformer_zoo.AmplificationBySampling(PoissonSampling=False)(base, t.rate)
    raise NotApplicable("Poisson sampling with several relations: see dp_accounting_pld")


def _autodp_rdp(terms: list[_Term], delta: float) -> float:
    with _third_party():
        if any(t.mechanism is Mechanism.WRITTEN_BOUND for t in terms):
            return _epsilon_from_curves(terms, delta, _autodp_curve)
        from autodp import transformer_zoo

        whole = transformer_zoo.Composition()([_autodp_mechanism(t) for t in terms], [t.steps for t in terms])
        return float(whole.approxDP(delta))


def _autodp_curve(t: _Term, orders: np.ndarray) -> np.ndarray:
    if t.mechanism is Mechanism.WRITTEN_BOUND:
        return _written(t, orders)
    with _third_party():
        mechanism = _autodp_mechanism(t)
        return t.steps * np.array([float(mechanism.RenyiDP(float(a))) for a in orders])


def _dp_accounting_event(t: _Term):
    import dp_accounting as dpa

    if t.mechanism is Mechanism.LAPLACE:
        if t.scheme != "plain":
            raise NotApplicable("sampled Laplace releases: see dp_accounting_pld and pure")
        return dpa.LaplaceDpEvent(t.multiplier)
    if t.mechanism is not Mechanism.GAUSSIAN:
        raise NotApplicable(f"{t.mechanism.value} is not an event of this library")
    base = dpa.GaussianDpEvent(t.multiplier)
    if t.scheme == "plain":
        return base
    if t.scheme == "poisson":
        return dpa.PoissonSampledDpEvent(t.rate, base)
    if t.scheme == "wor":
        rate = Fraction(t.rate).limit_denominator(10**9)
        return dpa.SampledWithoutReplacementDpEvent(rate.denominator, rate.numerator, base)
    raise NotApplicable("Poisson sampling with several relations: see dp_accounting_pld")


def _dp_accounting_curve(t: _Term, orders: np.ndarray) -> np.ndarray:
    if t.mechanism is Mechanism.WRITTEN_BOUND:
        return _written(t, orders)
    import dp_accounting as dpa
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    # Without amplification the relation is already in the sensitivity, so any relation the library accepts will do.
    relation = dpa.NeighboringRelation.REPLACE_ONE if t.scheme == "wor" else dpa.NeighboringRelation.ADD_OR_REMOVE_ONE
    with _third_party():
        acct = rdp.RdpAccountant(list(orders), relation)
        acct.compose(_dp_accounting_event(t), t.steps)
        return np.array(acct._rdp, dtype=float)  # the library has no public reader of its curve


def _dp_accounting_rdp(terms: list[_Term], delta: float) -> float:
    return _epsilon_from_curves(terms, delta, _dp_accounting_curve)


@lru_cache(maxsize=512)
def _kept_curve(curve: Callable, t: _Term, orders: tuple[float, ...]) -> np.ndarray:
    return curve(t, np.array(orders))


def _written(t: _Term, orders: np.ndarray) -> np.ndarray:
    known = dict(t.curve)
    return t.steps * np.array([known.get(float(a), math.inf) for a in orders])


def _divergence_at(t: _Term, order: float) -> float:
    if t.mechanism is Mechanism.WRITTEN_BOUND:
        return t.steps * min((bound for a, bound in t.curve if a >= order), default=math.inf)
    if t.mechanism is Mechanism.NO_NOISE or t.multiplier == 0:
        return math.inf
    if t.mechanism is Mechanism.GAUSSIAN and t.scheme == "plain":
        return t.steps * order / (2.0 * t.multiplier**2)
    with _third_party():
        return float(_dp_accounting_curve(t, np.array([max(order, _LOWEST_ORDER)]))[0])


def _epsilon_from_curves(terms: list[_Term], delta: float, curve: Callable) -> float:
    """Sum the curves of the terms and convert (Canonne, Kamath & Steinke 2020, proposition 12, in dp-accounting)."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    written = [{a for a, _ in t.curve} for t in terms if t.mechanism is Mechanism.WRITTEN_BOUND]
    orders = sorted(a for a in set.intersection(*written) if a > 1.01) if written else rdp.DEFAULT_RDP_ORDERS
    if not orders:
        raise NotApplicable("the written bounds have no common Renyi order above 1.01")
    orders = np.array(orders, dtype=float)
    total = np.zeros(len(orders))
    for t in terms:
        total = total + _kept_curve(curve, t, tuple(orders))
    keep = np.isfinite(total)
    if not keep.any():
        raise NotApplicable("no Renyi order has a finite bound")
    return float(rdp.compute_epsilon(orders[keep], np.maximum(total[keep], 0.0), delta)[0])


def _pld(terms: list[_Term], delta: float) -> float:
    """PLD at the finest grid that keeps rounding small and the arrays short.

    A coarser pessimistic grid still dominates the mechanism, so its epsilon stays an upper bound.
    """
    for t in terms:
        if t.mechanism not in (Mechanism.GAUSSIAN, Mechanism.LAPLACE):
            raise NotApplicable(f"no privacy loss distribution for {t.mechanism.value}")
        if t.scheme == "wor":
            raise NotApplicable("no privacy loss distribution for sampling without replacement")
        if t.scheme == "poisson_replace" and t.mechanism is Mechanism.LAPLACE:
            raise NotApplicable("Poisson-sampled Laplace releases with several relations")
    try:
        ceiling = _dp_accounting_rdp(terms, delta)  # to size the grid only
    except NotApplicable:
        try:
            ceiling = _gdp(terms, delta)
        except NotApplicable:
            ceiling = _pure(terms, delta)
    grid = max((ceiling + 1.0) / _PLD_LENGTH, min(_finest(t, delta) for t in terms))
    with _third_party():
        for _ in range(8):
            epsilon = _pld_on_grid(terms, delta, grid)
            if epsilon is not None:
                return epsilon
            grid *= 2
    raise NotApplicable("rounding exceeds the tolerance on every grid tried; see the Renyi accountants")


def _finest(t: _Term, delta: float) -> float:
    """Grid step that resolves one release: an eighth of the spread of its loss, or what the array length allows."""
    width = math.sqrt(2 * math.log(t.steps / (1e-4 * delta)))  # standard deviations that are kept
    if t.mechanism is Mechanism.LAPLACE:
        return max(1e-6, min(1e-3, t.rate / t.multiplier / 50, 4 / t.multiplier / 1000))
    if t.scheme == "plain":
        mu = math.sqrt(t.steps) / t.multiplier
        return max(1e-7, min(1e-3, mu / 200, mu * mu), (2 * width * mu + mu * mu) / _PLD_POINTS)
    sd = t.rate * math.sqrt(math.expm1(min(1 / t.multiplier**2, 600.0)))
    reach = width / t.multiplier + 1 / t.multiplier**2  # largest loss of an unsampled release
    reach = math.log1p(t.rate * math.expm1(reach)) if reach < 500 else reach + math.log(t.rate)
    return max(min(2e-4, sd / 8, t.rate / 8), reach / _PLD_POINTS)


def _pld_on_grid(terms: list[_Term], delta: float, grid: float) -> float | None:
    """Epsilon, or None where rounding on this grid could change it."""
    import dp_accounting as dpa
    from dp_accounting.pld import privacy_loss_distribution as plds

    steps = sum(t.steps for t in terms)
    cut = math.log(1e-4 * delta / steps)  # tails beyond go to infinity: at most delta/10^4 in all, on the safe side
    whole = None
    excess = deficit = 0.0
    for t in terms:
        count = t.steps
        if t.mechanism is Mechanism.LAPLACE:
            one = plds.from_laplace_mechanism(t.multiplier, value_discretization_interval=grid, sampling_prob=t.rate)
        else:
            multiplier = t.multiplier
            if t.scheme == "plain":  # Gaussians compose to a Gaussian
                multiplier, count = t.multiplier / math.sqrt(t.steps), 1
            one = plds.from_gaussian_mechanism(
                multiplier,
                value_discretization_interval=grid,
                log_mass_truncation_bound=cut,
                sampling_prob=t.rate,
                neighboring_relation=(
                    dpa.NeighboringRelation.REPLACE_ONE
                    if t.scheme == "poisson_replace"
                    else dpa.NeighboringRelation.ADD_OR_REMOVE_ONE
                ),
            )
        for pmf in {id(p): p for p in (one._pmf_remove, one._pmf_add)}.values():  # no public reader of the masses
            dense = pmf.to_dense_pmf()
            off = count * (float(np.sum(dense._probs)) + dense._infinity_mass - 1.0)
            excess, deficit = excess + max(off, 0.0), deficit + max(-off, 0.0)
        one = one.self_compose(count, tail_mass_truncation=1e-4 * delta) if count > 1 else one
        whole = one if whole is None else whole.compose(one, tail_mass_truncation=1e-4 * delta / len(terms))
    # Mass that rounding adds errs on the safe side; mass that it loses, and the round-off of the Fourier transform
    # (relative to the largest power of the transform, which is the total mass), are charged to delta.
    rounding = deficit + 10 * np.finfo(float).eps * steps * math.exp(min(excess, 50.0))
    if rounding > _PLD_ROUNDING * delta:
        return None
    return float(whole.get_epsilon_for_delta(delta - rounding))


def prv_interval(ledger: Ledger, delta: float, error: float = _PRV_ERROR) -> tuple[float, float, float]:
    """(lower, estimate, upper) of prv-accountant; ``error`` is half the width asked for.

    Raises NotApplicable where it covers no event of the ledger or its grid would be too long.
    """
    _, _, terms = _terms(tuple(map(_key, ledger)))
    return _prv_interval(terms, _checked_delta(delta), error)


def _prv_interval(terms: list[_Term], delta: float, error: float) -> tuple[float, float, float]:
    for t in terms:
        if t.mechanism is not Mechanism.GAUSSIAN or t.scheme not in ("plain", "poisson"):
            raise NotApplicable(
                f"covers Gaussian releases, whole or Poisson-sampled, not {t.mechanism.value} {t.scheme}"
            )
    counts = [t.steps for t in terms]
    mesh = error / math.sqrt(sum(counts) / 2 * math.log(12e3 / delta))
    reach = _dp_accounting_rdp(terms, delta * 1e-3 / 8 / sum(counts)) + 3
    if 2 * reach / mesh > _PRV_POINTS:
        raise NotApplicable(f"its grid would need {2 * reach / mesh:.1g} points")
    with _third_party():
        from prv_accountant import PRVAccountant
        from prv_accountant import privacy_random_variables as prvs

        variables = [
            prvs.GaussianMechanism(noise_multiplier=t.multiplier)
            if t.scheme == "plain"
            else prvs.PoissonSubsampledGaussianMechanism(t.rate, t.multiplier)
            for t in terms
        ]
        acct = PRVAccountant(variables, eps_error=error, delta_error=delta / 1000, max_self_compositions=counts)
        return tuple(float(e) for e in acct.compute_epsilon(delta, counts))


def _prv(terms: list[_Term], delta: float) -> float:
    return _prv_interval(terms, delta, _PRV_ERROR)[2]


_ACCOUNTANTS: dict[str, Callable[[list[_Term], float], float]] = {
    "gdp": _gdp,
    "pure": _pure,
    "dp_accounting_pld": _pld,
    "dp_accounting_rdp": _dp_accounting_rdp,
    "autodp_rdp": _autodp_rdp,
    "prv": _prv,
}
