"""The privacy ledger: what was released, with which sensitivity and noise, how often, and on which sample.

Events are facts about a run. No event holds an epsilon: ``privacy.accountants`` computes it from the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum


class Relation(StrEnum):
    """The neighbouring relation: which two data sets epsilon compares."""

    ADD_REMOVE = "add_remove"  # one has a row more than the other
    REPLACE_ONE = "replace_one"  # one row differs; the number of rows is public


class Sampling(StrEnum):
    """The rows that a release reads. Amplification by sampling holds for POISSON and WITHOUT_REPLACEMENT only."""

    FULL_BATCH = "full_batch"  # every row in every step
    POISSON = "poisson"  # each row independently with probability sampling_rate, drawn again in every step
    WITHOUT_REPLACEMENT = "without_replacement"  # a new uniform batch of fixed size in every step
    SHUFFLED_EPOCHS = "shuffled_epochs"  # a new secret permutation per epoch: each row once per epoch; `steps` = epochs
    FIXED_PARTITION = "fixed_partition"  # the same public batches in the same order in every epoch; `steps` = epochs


#: schemes in which each row enters exactly one release per epoch.
EPOCHS = frozenset({Sampling.SHUFFLED_EPOCHS, Sampling.FIXED_PARTITION})


class Mechanism(StrEnum):
    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"  # releases one candidate with probability proportional to exp(score / noise_scale)
    NO_NOISE = "no_noise"  # a release of private numbers without noise: epsilon is infinite
    WRITTEN_BOUND = "written_bound"  # no library covers the event; its Renyi bound is proved in this suite: renyi_curve


@dataclass(frozen=True)
class Event:
    """One kind of release, repeated ``steps`` times.

    Attributes
    ----------
    what : the quantity released, in words.
    mechanism, sampling, relation : see the enums.
    sensitivity : L2 (Gaussian) or L1 (Laplace) sensitivity of ONE release under ``relation``, given that the
        differing row is in the sample. For the exponential mechanism it is the largest change of any candidate's
        score. Its units are those of the released quantity, or of the score.
    noise_scale : standard deviation (Gaussian) or scale b (Laplace) of the noise that is really added. For the
        exponential mechanism, the number by which scores are divided. Same units as the sensitivity.
    sampling_rate : probability that one release reads a given row, to someone who does not know the order. It is 1 for
        FULL_BATCH and FIXED_PARTITION, whose batches are public, and 1 over the releases of an epoch for
        SHUFFLED_EPOCHS.
    steps : number of releases that one row can influence directly (epochs for the two epoch schemes).
    proof : the function whose docstring proves the sensitivity, with its module.
    generator : the random number generator of the noise.
    renyi_curve : for WRITTEN_BOUND, pairs (order, Renyi divergence) of one release; otherwise empty.
    contribution : the largest change of ONE release, in the norm and units of the sensitivity, if one row that is in
        its batch is left out of that batch. None: not stated. Poisson batches under REPLACE_ONE are amplified only if
        it is stated, and only an object that clips states it (``privacy.budget.ClippedSum``).

    Raises ValueError for a number out of range, and for an epoch scheme under ADD_REMOVE.
    """

    what: str
    mechanism: Mechanism
    relation: Relation
    sensitivity: float
    noise_scale: float
    sampling: Sampling = Sampling.FULL_BATCH
    sampling_rate: float = 1.0
    steps: int = 1
    proof: str = ""
    generator: str = ""
    renyi_curve: tuple[tuple[float, float], ...] = ()
    contribution: float | None = None

    def __post_init__(self) -> None:
        if not (0.0 < self.sampling_rate <= 1.0):
            raise ValueError(f"{self.what}: sampling_rate {self.sampling_rate} is not in (0, 1]")
        if self.steps < 0 or int(self.steps) != self.steps:
            raise ValueError(f"{self.what}: steps {self.steps} is not a whole number >= 0")
        if not (self.sensitivity >= 0.0):
            raise ValueError(f"{self.what}: sensitivity {self.sensitivity} is negative or NaN")
        if not (self.noise_scale >= 0.0):
            raise ValueError(f"{self.what}: noise_scale {self.noise_scale} is negative or NaN")
        if self.contribution is not None and not all(0 < c < math.inf for c in (self.contribution, self.sensitivity)):
            raise ValueError(
                f"{self.what}: contribution {self.contribution} at sensitivity {self.sensitivity}; give two finite "
                "numbers above 0, or no contribution"
            )
        if self.relation is Relation.ADD_REMOVE and self.sampling in EPOCHS:
            raise ValueError(
                f"{self.what}: {self.sampling} under add_remove: without one row the batches of all others are cut "
                "elsewhere, so that every release of an epoch moves; declare replace_one, or draw Poisson batches"
            )

    @property
    def noise_multiplier(self) -> float:
        """Noise standard deviation (or scale) over sensitivity; 0 for a release without noise."""
        if self.mechanism is Mechanism.NO_NOISE:
            return 0.0
        return math.inf if self.sensitivity == 0.0 else self.noise_scale / self.sensitivity

    @property
    def relative_contribution(self) -> float | None:
        """The contribution of one row over the sensitivity; None if it is not stated."""
        return None if self.contribution is None else self.contribution / self.sensitivity


@dataclass
class Ledger:
    """All events of one fit, in order. Equal events are merged by adding their steps."""

    events: list[Event] = field(default_factory=list)

    def record(self, event: Event) -> None:
        for i, old in enumerate(self.events):
            if replace(old, steps=0) == replace(event, steps=0):
                self.events[i] = replace(old, steps=old.steps + event.steps)
                return
        self.events.append(event)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def to_json(self) -> list[dict]:
        """One mapping per event. A contribution that is not stated is left out."""
        rows = [asdict(e) for e in self.events]
        return [{k: v for k, v in row.items() if k != "contribution" or v is not None} for row in rows]

    @classmethod
    def from_json(cls, rows: list[dict]) -> Ledger:
        out = cls()
        for row in rows:
            row = dict(row)
            row["mechanism"] = Mechanism(row["mechanism"])
            row["relation"] = Relation(row["relation"])
            row["sampling"] = Sampling(row["sampling"])
            row["renyi_curve"] = tuple((float(a), float(b)) for a, b in row.get("renyi_curve", ()))
            out.events.append(Event(**row))
        return out
