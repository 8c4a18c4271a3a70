"""Settings of the authors' code for "SEP clipped" and "DP-SEP" (Vinaroz & Park 2023). Imports no numba."""

from __future__ import annotations

from dataclasses import dataclass

from methods._shared.settings_checks import one_of
from methods.contract import Leak, LeakKind
from models.task import Task

#: leaks of the methods that run the authors' code, or its algorithm, on the network.
FROZEN_NOISE = Leak(
    LeakKind.PRIORS,
    "on the network the noise precision is frozen at the result of an earlier non-private run on the same data set",
    models=("bnn_regression",),
)
STANDARDISED = Leak(
    LeakKind.STANDARDISATION,
    "inputs and target of a regression are standardised by the mean and standard deviation of the private "
    "training rows",
    models=("bnn_regression",),
)

CLIP_SITES = ("none", "per_block")
ADD_NOISE = ("none", "printed", "needed")


@dataclass(frozen=True)
class Settings:
    """Settings of the authors' code. The defaults are those of the code; each difference from SEP can be removed.

    The mixture of Gaussians reads ``epochs``, ``clip``, ``floor`` and the last three.

    With the five booleans at False, False, False, True (``refine_prior``) and no noise it is ``sep`` exactly.
    """

    #: passes over the rows (Vinaroz & Park 2023: 40).
    epochs: int = 40
    #: C, bound on Euclidean norms of natural parameters in standardised units (Vinaroz & Park 2023: 1).
    clip: float = 1.0
    #: shape of the noise Gamma, hard-coded by data set in the authors' code, from an earlier run of SEP on the same
    #: data. None: the model's prior.
    noise_shape: float | None = None
    #: its rate; rate / (shape - 1) is the noise variance in squared standard deviations of the target. Source as above.
    noise_rate: float | None = None
    #: keep the noise Gamma at these constants (the authors' code does); else SEP's prior and update.
    freeze_noise: bool = True
    #: prior N(0, sqrt(n_l) / C) per layer of n_l weights (clipped prior of the authors' code); else SEP's N(0, 6/5).
    broad_prior: bool = True
    #: initial q with the constants' variance, natural parameters clipped per layer (authors' code); else SEP's.
    clip_initial: bool = True
    #: SEP's prior refinement after each epoch (authors' code: no).
    refine_prior: bool = False
    #: "none" (authors' code: clipped sites are computed and not used) or "per_block": the mean naturals and the
    #: precisions of each layer of every site are scaled to norm <= C.
    clip_sites: str = "none"
    #: "none" (authors' code: noise is computed and not used), or noise on all four blocks of naturals in each step with
    #: standard deviation 2 C sigma / N ("printed") or 2 C sigma ("needed": the step moves by a whole site).
    add_noise: str = "none"
    #: replaces a precision that is not positive after noise (authors' code: 1e-4).
    floor: float = 1e-4
    #: mixture of Gaussians only: noise multiplier of the mean naturals (authors' code: autodp at 4/5 of epsilon and of
    #: delta, N T steps at sampling rate 1/N). None, for both: no noise.
    mean_noise: float | None = None
    #: mixture of Gaussians only: noise multiplier of the precisions (authors' code: the same at 1/5).
    precision_noise: float | None = None
    #: mixture of Gaussians only: damping value gamma, a step moves theta by gamma / N of a site (authors' code: 1).
    gamma: float = 1.0

    def constants(self, task: Task) -> tuple[float, float]:
        """Shape and rate of the noise Gamma."""
        shape = task.model.noise_shape if self.noise_shape is None else self.noise_shape
        rate = task.model.noise_rate if self.noise_rate is None else self.noise_rate
        return float(shape), float(rate)

    def check(self, method: str) -> None:
        """Raise ValueError for a value out of range."""
        one_of(method, self, "clip_sites", CLIP_SITES)
        one_of(method, self, "add_noise", ADD_NOISE)
        if self.add_noise != "none" and self.clip_sites == "none":
            raise ValueError(
                f"{method}: add_noise = '{self.add_noise}' with clip_sites = 'none': without clipping no noise has a "
                "sensitivity to go with; set clip_sites to 'per_block'"
            )
