"""Discrete noise by OpenDP for full-batch releases, without the leak through the last digits of doubles.

A noisy number in double precision can rule a data set out (``privacy.floating_point``). OpenDP avoids this (Canonne,
Kamath & Steinke 2020). It adds discrete Gaussian or discrete Laplace noise on the multiples of g = 2^-1074 by exact
integer arithmetic, with random bits of a cryptographic generator, and rounds the sum once. Every double is a multiple
of g, so the value itself is not rounded.

The ledger is right for these mechanisms:

* **Release.** It is the exact sum, rounded to a double, which is post-processing of the discrete mechanism. Each
  double that is possible for one data set is possible for its neighbour too.
* **Renyi.** For values on the lattice, the discrete Gaussian's Renyi divergence of each order is at most that of the
  Gaussian with the same scale, in any dimension (Canonne, Kamath & Steinke 2020, on concentrated DP). Renyi accountants
  and limits therefore hold as they are.
* **Pure epsilon.** The ratio of two probabilities of the discrete Laplace is exp(distance / b) at most, as in the
  continuous case.
* **PLD and Gaussian DP** hold for the continuous mechanism, so by post-processing they hold for continuous noise of
  density f that is rounded to the lattice. The discrete noise differs from that by at most t = g / scale in total
  variation per number. A cell's mass and g f(its middle) differ by at most g times the variation of f there, which
  sums to at most t. So does the constant that makes the g f(.) add up to 1, and total variation is half of both.
  Exchanging one noise for the other therefore adds at most (1 + e^epsilon) d t to delta over a ledger of d numbers.
  ``LEAST_SCALE`` makes t smaller than 1e-123, which is below the rounding of every accountant here. The same argument
  covers the Renyi divergence of Laplace noise, whose loss is bounded.

**Sensitivity of the computed value.** A proof of sensitivity is about real numbers, and a sum of doubles has rounding
errors. Let n rows have terms with norms of at most twice the sensitivity S. A sum in any order then errs by at most n u
x 2 n S with u = 2^-53 (Higham 2002, section 4.2), which is 2^-12 S for n = ``MOST_ROWS``. If each term is computed to
within 2^-32 S of one function of its row, all terms err by at most 2^-12 S together. Both errors occur on both
neighbours, so the computed values of two neighbours differ by at most (1 + 2^-10) S. Sensitivity and noise scale are
therefore both ``1 + SLACK`` times what the method declares, and the noise multiplier is unchanged. The condition on the
terms is measured, not proved (``benchmarks/discrete_noise.py``).

Not covered: how long a draw takes depends on the noise (Jin, McMurtry, Rubinstein & Ohrimenko 2022). OpenDP keeps both
constructors behind its feature "contrib", because the vetting of their proofs is not complete.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privacy.budget import AdditiveMechanism, Budget, BudgetSpec
from privacy.ledger import Event, Mechanism, Sampling

#: relative increase of the sensitivity that covers rounding errors of sums; the module's docstring has the proof.
SLACK = 2.0**-10
#: largest number of rows for which the proof holds; below 2^20.
MOST_ROWS = 1_000_000
#: smallest noise scale for which the discrete noise is shown to be as good as the continuous one.
LEAST_SCALE = 1e-200
REMEDY = "install it with: pip install '.[discrete]' -c constraints.txt"

_BERNSTEIN = "methods.sufficient_statistics._bernstein_sheldon"
#: functions whose proved sensitivity survives rounding, by reading them. Each is a sum over rows of bounded functions
#: of one row, of public numbers and of earlier releases.
SUMS = frozenset(
    {
        "privacy.scaling.range_counts",
        "privacy.scaling.moment_sums",
        "privacy.replaced.counts",
        "privacy.ranges.interval_counts",
        "privacy.ranges.moment_sums",
        "methods._shared.adassp.second_moments",
        "methods._shared.conjugate_linear.release.clipped_site_sum",
        "methods.sufficient_statistics.sufficient_statistics_perturbation.statistic_sum",
        "methods.em.dp_em_corrected.joint_moments",
        f"{_BERNSTEIN}.families.inside_sum",
        f"{_BERNSTEIN}.families.bounded_sum",
        f"{_BERNSTEIN}.families.category_counts",
        f"{_BERNSTEIN}.regression.clipped_moments",
        f"{_BERNSTEIN}.box.moments",
    }
)
_OTHER = {
    Mechanism.WRITTEN_BOUND: "the release is a draw from a posterior, so there is no noise that could be exchanged",
    Mechanism.EXPONENTIAL: "it chooses by noisy scores in double precision, and nothing exact takes their place here",
    Mechanism.NO_NOISE: "its numbers leave without noise",
}


class NotDiscrete(ValueError):
    """Discrete noise does not cover the release, or OpenDP is missing. The message says why and what to do."""


def available() -> bool:
    """Whether OpenDP, an optional dependency, is installed. ``REMEDY`` says how to install it."""
    return importlib.util.find_spec("opendp") is not None


def refusal(event: Event) -> str:
    """The reason why a release cannot have discrete noise, or "" if it can."""
    if event.mechanism in _OTHER:
        return _OTHER[event.mechanism]
    if event.sampling is not Sampling.FULL_BATCH:
        return (
            f"its rows are sampled ({event.sampling}): its epsilon needs batches that nobody can guess, and a "
            "generator that is not cryptographic draws them"
        )
    if not math.isfinite(event.sensitivity):
        return "nothing bounds its sensitivity"
    if event.proof not in SUMS:
        return f"nobody has shown that rounding keeps the sensitivity that is proved in '{event.proof}'"
    if not event.noise_scale >= LEAST_SCALE:
        return f"its noise has scale {event.noise_scale}; the proof needs at least {LEAST_SCALE}"
    return ""


def adder(mechanism: Mechanism, scale: float) -> Callable[[list[float]], list[float]]:
    """OpenDP's measurement, which adds discrete noise of that scale to each number and rounds the sums.

    ``scale``: standard deviation (Gaussian) or b (Laplace), in the units of the numbers. Raises :class:`NotDiscrete`
    without OpenDP.
    """
    if not available():
        raise NotDiscrete(f"discrete noise needs OpenDP, which is not here; {REMEDY}")
    # not opendp.prelude, which imports scikit-learn
    from opendp.domains import atom_domain, vector_domain  # pyright: ignore[reportMissingImports]
    from opendp.measurements import make_gaussian, make_laplace  # pyright: ignore[reportMissingImports]
    from opendp.metrics import l1_distance, l2_distance  # pyright: ignore[reportMissingImports]
    from opendp.mod import enable_features  # pyright: ignore[reportMissingImports]

    enable_features("contrib")
    laplace = mechanism is Mechanism.LAPLACE
    make, metric = (make_laplace, l1_distance) if laplace else (make_gaussian, l2_distance)
    # without k, the lattice is that of all doubles
    return make(vector_domain(atom_domain(T=float, nan=False)), metric(T=float), scale=scale)


def generator() -> str:
    """The source of the noise, as the ledger names it."""
    from importlib.metadata import version

    return f"OpenDP {version('opendp')}: discrete noise on multiples of 2^-1074, from a cryptographic generator"


@dataclass(frozen=True)
class DiscreteSpec:
    """A ``BudgetSpec`` that opens budgets with discrete noise. ``rows`` is the number of rows that the fit reads.

    No seed determines the noise. Raises :class:`NotDiscrete` without OpenDP, and for more than ``MOST_ROWS`` rows.
    """

    spec: BudgetSpec
    rows: int

    def __post_init__(self) -> None:
        if not available():
            raise NotDiscrete(f"discrete noise needs OpenDP, which is not here; {REMEDY}")
        if self.rows > MOST_ROWS:
            raise NotDiscrete(
                f"{self.rows:,} rows: rounding is bounded for at most {MOST_ROWS:,}; use double precision"
            )

    def __getattr__(self, name):
        return getattr(self.spec, name)

    def open(self, rng: np.random.Generator, recorder: object | None = None) -> Budget:
        """Open the budget of one fit. ``rng`` would only draw batches, which these releases do not have."""
        return DiscreteBudget(self.spec, rng, recorder)


class DiscreteBudget(Budget):
    """A budget with discrete noise.

    It raises :class:`NotDiscrete` for a release that this does not cover when it is charged, before any of its numbers
    is released.
    """

    def _charge(self, event: Event) -> None:
        """Write the event to the ledger. Raises :class:`NotDiscrete` if discrete noise excludes it."""
        if why := refusal(event):
            raise NotDiscrete(f"'{event.what}' cannot have discrete noise: {why}; use double precision")
        super()._charge(event)

    def _hand_out(self, kind, event, releases):
        wider = replace(
            event,
            sensitivity=event.sensitivity * (1 + SLACK),
            noise_scale=event.noise_scale * (1 + SLACK),
            generator=generator(),
        )
        return super()._hand_out(type(f"Discrete{kind.__name__}", (_Discrete, kind), {}), wider, releases)


class _Discrete(AdditiveMechanism):
    """A mix-in that gives a mechanism's releases discrete noise. It refuses to give blocks of noise without values."""

    @cached_property
    def _add(self) -> Callable[[list[float]], list[float]]:
        return adder(self.event.mechanism, self.noise_scale)

    def release(self, value: np.ndarray) -> np.ndarray:
        """One release, as of any mechanism. Raises ValueError for a NaN or infinity in the value."""
        value = np.asarray(value, dtype=np.float64)
        if not np.isfinite(value).all():
            raise ValueError(
                f"'{self.event.what}': a NaN or infinity reached a release; clip must map it to a finite value first"
            )
        self._count(1)
        noisy = np.reshape(np.array(self._add(value.ravel().tolist()), dtype=np.float64), value.shape)
        # Only an audit needs the noise by itself, and the subtraction rounds.
        return noisy if self._recorder is None else self._recorder.release(self.event, value, noisy - value)

    def noise(self, releases: int, size: int, dtype=np.float64) -> np.ndarray:
        """Raise :class:`NotDiscrete`: a value plus a block of noise would leak through its last digits."""
        raise NotDiscrete(f"'{self.event.what}': discrete noise is added release by release; use double precision")
