"""Epsilon of a ledger, from several independent accountants.

The ledger holds facts; this package turns them into (epsilon, delta). Every accountant here gives an upper bound that
holds for the events as they are written, and :func:`epsilon_of` takes the smallest of the bounds that cover both
directions of the neighbouring relation.

==================== =======================================================================================
``gdp``              exact Gaussian composition, mu = sqrt(sum of steps x (sensitivity / scale)^2) (Dong, Roth & Su
                     2022, corollary 3.3; curve delta(epsilon) of Balle & Wang 2018, theorem 8). No amplification.
``pure``             sum of pure epsilons (Laplace releases and exponential mechanisms only); the one at delta = 0.
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

from privacy.accountants.epsilon import BOUNDS, NAMES, Cost, epsilon_of, epsilons
from privacy.accountants.exact import gdp_delta, gdp_epsilon, gdp_mu
from privacy.accountants.loss_distributions import prv_interval
from privacy.accountants.published import vinaroz_dpvi_epsilon, vinaroz_sigma
from privacy.accountants.renyi import check_order, renyi_curve, renyi_divergence
from privacy.accountants.terms import NotApplicable

__all__ = [
    "BOUNDS", "NAMES", "Cost", "NotApplicable", "check_order", "epsilon_of", "epsilons", "gdp_delta", "gdp_epsilon",
    "gdp_mu", "prv_interval", "renyi_curve", "renyi_divergence", "vinaroz_dpvi_epsilon", "vinaroz_sigma",
]  # fmt: skip
