"""Checks of privacy claims: record and replay, tests of noise and batches, and lower bounds on epsilon.

============================== =======================================================================================
:mod:`privacy.audit.replays`   record on D, replay on a neighbour D': by how much each release and anything else changes
:mod:`privacy.audit.pairs`     hard pairs of neighbouring data sets
:mod:`privacy.audit.noise`     the distribution of the noise that mechanisms draw
:mod:`privacy.audit.sampling`  whether batches are Poisson samples at the declared rate
:mod:`privacy.audit.search`    a search for the worst pair of neighbours of one adapter
:mod:`privacy.audit.forged`    replays with forged outputs, and whether ``supports`` depends on rows
:mod:`privacy.audit.rare`      tails of the noise, secrets of few bits, the last of many steps, overspending
:mod:`privacy.audit.paths`     recorded compared with ordinary fits; whether the noise is used
:mod:`privacy.audit.bounds`    lower bounds on epsilon from many fits on two neighbours
:mod:`privacy.audit.battery`   every check of one adapter on one task
============================== =======================================================================================
"""

from privacy.audit.battery import CHECKS, EVALUATIONS, KILLS, WHOLE_FITS, Audit, Evidence, checks
from privacy.audit.bounds import LowerBound, audit_power, clopper_pearson, epsilon_lower_bound
from privacy.audit.forged import FORGERIES, forged_fault, strangers, supports_fault
from privacy.audit.noise import (
    NOISE_ALPHA,
    SAMPLES,
    Listener,
    NoiseLaw,
    noise_fault,
    noise_law,
    noise_law_power,
    noise_power,
)  # fmt: skip
from privacy.audit.pairs import ROWS, first_rows, neighbour_pairs, neighbours, with_last_row, with_row
from privacy.audit.paths import same_path
from privacy.audit.rare import (
    SECRETS,
    TAIL_SAMPLES,
    collision,
    late_fault,
    overspending,
    secret_fault,
    tail_fault,
    tail_power,
)
from privacy.audit.replays import (
    REFUSED,
    ROUNDING,
    Gap,
    Recorder,
    Replay,
    StructureDiffers,
    flat_parameters,
    parameter_distance,
    replay,
    replay_gap,
    run,
    unequal,
)  # fmt: skip
from privacy.audit.sampling import COIN_ALPHA, MOST_SEEDS, SEEDS, SEEN, fits_for, sampling_fault, share_power
from privacy.audit.search import Found, Pair, climb

__all__ = [
    "CHECKS", "COIN_ALPHA", "EVALUATIONS", "FORGERIES", "KILLS", "MOST_SEEDS", "NOISE_ALPHA", "REFUSED", "ROUNDING",
    "ROWS", "SAMPLES", "SECRETS", "SEEDS", "SEEN", "TAIL_SAMPLES", "WHOLE_FITS", "Audit", "Evidence", "Found", "Gap",
    "Listener", "LowerBound", "NoiseLaw", "Pair", "Recorder", "Replay", "StructureDiffers", "audit_power", "checks",
    "climb", "clopper_pearson", "collision", "epsilon_lower_bound", "first_rows", "fits_for",
    "flat_parameters", "forged_fault", "late_fault", "neighbour_pairs", "neighbours", "noise_fault", "noise_law",
    "noise_law_power", "noise_power", "overspending", "parameter_distance", "replay", "replay_gap", "run",
    "same_path", "sampling_fault", "secret_fault", "share_power", "strangers", "supports_fault", "tail_fault",
    "tail_power", "unequal", "with_last_row", "with_row",
]  # fmt: skip
