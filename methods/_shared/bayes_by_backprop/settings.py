"""Settings shared by the methods of Bayes by backprop. Importing this module is cheap."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from methods._shared.settings_checks import one_of, positive, whole, within
from methods.contract import Leak, LeakKind
from models.bnn_classification import GaussianPrior, ScaleMixturePrior

PRIORS = ("gaussian", "scale_mixture")
OPTIMISERS = ("sgd", "adam")
#: leaks of every private method of Bayes by backprop that the ledger does not count.
LEAKS = (
    Leak(
        LeakKind.TUNED,
        "on mnist_digits only: clip, learning rate and batch size are those of a published example of DP-SGD, whose "
        "authors chose them with scores on this data set in view",
        datasets=("mnist_digits",),
    ),
)
_WHO = "network training"


@dataclass(frozen=True)
class TrainingSettings:
    """The settings that every method of Bayes by backprop has."""

    #: epochs after which the weights (of a posterior: their means) are kept for learning curves. Training does not
    #: depend on it. Epochs that are not reached are left out.
    snapshots: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class VariationalSettings(TrainingSettings):
    """The mean-field posterior and its prior. Numbers without a source are choices of this suite."""

    rho_rate: float = 1.0  # learning rate of rho over that of mu
    rho_start: float = -5.0  # rho at the start; the standard deviation of a weight is log(1 + exp(rho))
    kl_weight: float = 1.0  # kappa, weight of the KL term; 1 is the evidence bound
    prior: str = "gaussian"  # or "scale_mixture" (blundell2015weight, equation 7)
    prior_sd: float = 1.0  # standard deviation of the Gaussian prior, or of the mixture's wide component
    prior_sd_narrow: float = math.exp(-6.0)  # of the mixture's narrow component
    prior_share: float = 0.5  # share of the wide component
    predictive_draws: int = 20  # draws of the weights in a prediction


@dataclass(frozen=True)
class PrivateSettings(TrainingSettings):
    """Clipping norm, learning rate and batch size of Opacus' MNIST example (the row of 1.19 and of 7.10)."""

    epochs: int = 30  # passes over the rows, in expectation
    batch_size: int = 256  # L, expected rows per step
    clip: float = 1.5  # C, L2 norm of a row's gradient over all layers
    learning_rate: float = 0.25  # per step, of the mean gradient; of a posterior, for mu


@dataclass(frozen=True)
class PrivateVariationalSettings(VariationalSettings, PrivateSettings):
    """Clipping norm, learning rate and batch size as in DP-SGD. The norm is that of a row's gradient in w."""


def check(settings) -> None:
    """Raise ValueError, which names the first setting that is out of range."""
    present = {field.name for field in fields(settings)}

    def those(*names: str) -> list[str]:
        return [name for name in names if name in present]

    if not all(int(e) == e and e >= 1 for e in settings.snapshots):
        raise ValueError(f"{_WHO}: snapshots = {settings.snapshots}; give whole numbers of epochs, each at least 1")
    whole(_WHO, settings, *those("epochs", "batch_size", "predictive_draws"))
    positive(_WHO, settings, *those("clip", "learning_rate", "prior_sd", "prior_sd_narrow", "prior_share"))
    within(_WHO, settings, "[0, inf)", *those("rho_rate", "kl_weight"))
    within(_WHO, settings, "(-inf, inf)", *those("rho_start"))
    within(_WHO, settings, "[0, 1)", *those("momentum"))
    if "optimiser" in present:
        one_of(_WHO, settings, "optimiser", OPTIMISERS)
    if "prior" in present:
        prior_of(settings)


def prior_of(settings) -> GaussianPrior | ScaleMixturePrior:
    """The prior that the settings name. Raises ValueError for an unknown name or numbers out of range."""
    one_of(_WHO, settings, "prior", PRIORS)
    if settings.prior == "gaussian":
        return GaussianPrior(settings.prior_sd)
    return ScaleMixturePrior(settings.prior_share, settings.prior_sd, settings.prior_sd_narrow)
