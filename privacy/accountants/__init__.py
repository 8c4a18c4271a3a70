"""Epsilon of a ledger, from several independent accountants.

The ledger holds facts, and this package turns them into (epsilon, delta). Every accountant gives an upper bound for the
events of the ledger. :func:`epsilon_of` takes the smallest bound among those that cover both directions of the
neighbouring relation.

==================== =======================================================================================
``gdp``              exact Gaussian composition, mu = sqrt(sum of steps x (sensitivity / scale)^2) (Dong, Roth & Su
                     2022, corollary 3.3; curve delta(epsilon) of Balle & Wang 2018, theorem 8). No amplification.
``pure``             sum of pure epsilons, for Laplace releases and exponential mechanisms; the only one at delta = 0.
``autodp_rdp``       autodp: Renyi composition. With Poisson sampling it is exact for the Gaussian at integer orders.
                     For sampling without replacement it is the general bound of Wang, Balle & Kasiviswanathan 2019,
                     theorem 9.
``dp_accounting_rdp`` dp-accounting: Renyi composition (Mironov, Talwar & Zhang 2019; Wang et al. 2019, theorem 27).
``dp_accounting_pld`` dp-accounting: privacy loss distributions, pessimistic "connect the dots" grid (Doroshenko et
                     al. 2022).
``prv``              prv-accountant, upper end of its interval (Gopi, Lee & Wutschitz 2021). It follows one direction of
                     the relation (removal), so it is reported for comparison and never taken as the answer.
==================== =======================================================================================

Rules for sampling and relations (each conversion adds a sentence to ``Cost.notes``):

- Without amplification (full batch, shuffled epochs, fixed partition) the bound depends only on noise_scale /
  sensitivity and on the steps. This holds for any relation, because the sensitivity is stated under that relation.
- A secret permutation (shuffled epochs) is charged as if its order were public. That is an upper bound, and how far it
  is from epsilon is not known: the bound by clones (Feldman, McMillan & Talwar 2021) needs a local epsilon that single
  noisy rows exceed, and bounds for independent slots ("random allocation") are not proved for a permutation, because
  a swap of two rows moves both. :mod:`privacy.accountants.lower` has what a pair shows.
- Poisson sampling amplifies under ADD_REMOVE. Under REPLACE_ONE the sensitivity bounds the distance between two
  contributions but not their size. If the event states that size too (``Event.contribution``), a Gaussian release is
  amplified in the PLD accountant. Otherwise no amplification is counted.
- Sampling without replacement amplifies under REPLACE_ONE. Under ADD_REMOVE a removed row is exchanged for another one
  in a batch of fixed size. This costs as much as Poisson sampling at twice the distance. The rate of the event is the
  size of a batch over the rows of the larger table, and both tables must give batches of the same size.
- A ledger with several relations is converted to REPLACE_ONE. A replacement is a removal and an addition, so the
  distance of events under ADD_REMOVE doubles. Poisson events under ADD_REMOVE keep their amplification in the PLD
  accountant, because their sensitivity is the size of a contribution. A written bound at order 2 a is converted to
  order a by way of the table without the row.

:mod:`privacy.accountants.terms` proves the rules for Poisson sampling under REPLACE_ONE and for sampling without
replacement under ADD_REMOVE. dp-accounting is the only accountant here that covers the first.
"""

from privacy.accountants.epsilon import BOUNDS, NAMES, Cost, epsilon_of, epsilons
from privacy.accountants.exact import gdp_delta, gdp_epsilon, gdp_mu
from privacy.accountants.loss_distributions import prv_interval
from privacy.accountants.lower import Lower, lower_bound
from privacy.accountants.published import vinaroz_dpvi_epsilon, vinaroz_sigma
from privacy.accountants.renyi import check_order, renyi_curve, renyi_divergence
from privacy.accountants.terms import NotApplicable

__all__ = [
    "BOUNDS", "NAMES", "Cost", "Lower", "NotApplicable", "check_order", "epsilon_of", "epsilons", "gdp_delta",
    "gdp_epsilon", "gdp_mu", "lower_bound", "prv_interval", "renyi_curve", "renyi_divergence", "vinaroz_dpvi_epsilon",
    "vinaroz_sigma",
]  # fmt: skip
