"""Settings that the adapters of Bernstein & Sheldon 2018 share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sweeps:
    """Lengths of the sampler: as NA-DPVI's benchmark."""

    burn_in_sweeps: int = 500  # Gibbs sweeps thrown away (released program)
    sweeps: int = 1000  # Gibbs sweeps kept, one chain, none left out (released program)

    def __post_init__(self) -> None:
        me = "Bernstein & Sheldon (2018)"
        if self.burn_in_sweeps < 0:
            raise ValueError(f"{me}: burn_in_sweeps = {self.burn_in_sweeps}; give a whole number >= 0")
        if self.sweeps < 1:
            raise ValueError(f"{me}: sweeps = {self.sweeps}; give a whole number >= 1")
