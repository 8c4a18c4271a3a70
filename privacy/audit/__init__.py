"""Privacy is measured here: record and replay, the noise law, and a lower bound on epsilon end to end.

============================== =======================================================================================
:mod:`privacy.audit.replays`   record on D, replay on a neighbour D': by how much each release moves, and what else does
:mod:`privacy.audit.pairs`     hard pairs of neighbouring data sets
:mod:`privacy.audit.noise`     the law of the noise that mechanisms draw
:mod:`privacy.audit.sampling`  the batches, against independent coins
:mod:`privacy.audit.paths`     recorded against ordinary fits; whether the noise is used
:mod:`privacy.audit.games`     a lower bound on epsilon from posteriors alone
:mod:`privacy.audit.battery`   every check of one adapter on one task
============================== =======================================================================================
"""

from privacy.audit.battery import CHECKS, Audit, Evidence, checks
from privacy.audit.games import LowerBound, audit_power, clopper_pearson, distinguishing_game, epsilon_lower_bound
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

__all__ = [
    "CHECKS", "COIN_ALPHA", "MOST_SEEDS", "NOISE_ALPHA", "REFUSED", "ROUNDING", "ROWS", "SAMPLES", "SEEDS",
    "SEEN", "Audit", "Evidence", "Gap", "Listener", "LowerBound", "NoiseLaw", "Recorder", "Replay", "StructureDiffers",
    "audit_power", "checks", "clopper_pearson", "distinguishing_game", "epsilon_lower_bound", "first_rows", "fits_for",
    "flat_parameters", "neighbour_pairs", "neighbours", "noise_fault", "noise_law", "noise_law_power", "noise_power",
    "parameter_distance", "replay", "replay_gap", "run", "same_path", "sampling_fault", "share_power", "unequal",
    "with_last_row", "with_row",
]  # fmt: skip
