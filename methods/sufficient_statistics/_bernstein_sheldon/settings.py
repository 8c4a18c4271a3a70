"""Settings shared by the methods of Bernstein & Sheldon 2018."""

from __future__ import annotations

from dataclasses import dataclass

from methods._shared.settings_checks import whole


@dataclass(frozen=True)
class Sweeps:
    """Lengths of the Gibbs chain, as in the benchmark of NA-DPVI."""

    burn_in_sweeps: int = 500  # Gibbs sweeps discarded (authors' code)
    sweeps: int = 1000  # Gibbs sweeps kept, one chain, no thinning (authors' code)

    def __post_init__(self) -> None:
        whole("Bernstein & Sheldon (2018)", self, "burn_in_sweeps", least=0)
        whole("Bernstein & Sheldon (2018)", self, "sweeps")
