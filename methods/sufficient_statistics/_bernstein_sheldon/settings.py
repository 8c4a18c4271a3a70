"""Settings that the adapters of Bernstein & Sheldon 2018 share."""

from __future__ import annotations

from dataclasses import dataclass

from methods._shared.settings_checks import whole


@dataclass(frozen=True)
class Sweeps:
    """Lengths of the sampler: as NA-DPVI's benchmark."""

    burn_in_sweeps: int = 500  # Gibbs sweeps thrown away (authors' code)
    sweeps: int = 1000  # Gibbs sweeps kept, one chain, none left out (authors' code)

    def __post_init__(self) -> None:
        whole("Bernstein & Sheldon (2018)", self, "burn_in_sweeps", least=0)
        whole("Bernstein & Sheldon (2018)", self, "sweeps")
