"""Settings that the methods of this engine share. Light: adapters import it when they are listed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from methods.contract import Leak, LeakKind
from models.bnn_classification import GaussianPrior, ScaleMixturePrior

PRIORS = ("gaussian", "scale_mixture")
OPTIMISERS = ("sgd", "adam")
#: leaks of every private method of this engine that the ledger does not count.
LEAKS = (
    Leak(
        LeakKind.TUNED,
        "on mnist_digits only: clip, learning rate and batch size are those of a published example of DP-SGD, whose "
        "authors chose them with scores on this data set in view",
        datasets=("mnist_digits",),
    ),
)
_WHOLE = {"epochs", "batch_size", "predictive_draws"}
_MAY_BE_ZERO = {"kl_weight", "rho_rate", "momentum"}
_ANY_SIGN = {"rho_start"}


@dataclass(frozen=True)
class TrainingSettings:
    """What every method has."""

    #: epochs after which the weights (of a posterior: their means) are kept for learning curves; training does not
    #: depend on it, and epochs that are not reached are left out.
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
    """Clip, rate and batch of Opacus' MNIST example (the row of 1.19 and of 7.10)."""

    epochs: int = 30  # passes over the rows, in expectation
    batch_size: int = 256  # L, expected rows a step
    clip: float = 1.5  # C, L2 norm of a row's gradient over all layers
    learning_rate: float = 0.25  # per step, of the mean gradient; of a posterior, for mu


@dataclass(frozen=True)
class PrivateVariationalSettings(VariationalSettings, PrivateSettings):
    """Clip, rate and batch as in DP-SGD; the norm is that of a row's gradient in w."""


def check(settings) -> None:
    """Raises ValueError naming the first hyper-parameter that is out of range."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, str):
            continue
        if field.name == "snapshots":
            if not all(int(e) == e and e >= 1 for e in value):
                raise ValueError(f"snapshots = {value}; give whole numbers of epochs, each at least 1")
            continue
        if field.name in _WHOLE and int(value) != value:
            raise ValueError(f"{field.name} = {value}; give a whole number")
        if not math.isfinite(value):
            raise ValueError(f"{field.name} = {value}; give a finite number")
        if field.name not in _ANY_SIGN and (value < 0 or (value == 0 and field.name not in _MAY_BE_ZERO)):
            raise ValueError(
                f"{field.name} = {value}; give a number {'of 0 or' if field.name in _MAY_BE_ZERO else ''} above 0"
            )
    if (name := getattr(settings, "optimiser", "sgd")) not in OPTIMISERS:
        raise ValueError(f"optimiser = '{name}'; give one of {', '.join(OPTIMISERS)}")
    if not getattr(settings, "momentum", 0.0) < 1:
        raise ValueError(f"momentum = {settings.momentum}; give a number below 1")
    if hasattr(settings, "prior"):
        prior_of(settings)


def prior_of(settings) -> GaussianPrior | ScaleMixturePrior:
    """The prior that the settings name. Raises ValueError for an unknown name or numbers out of range."""
    if settings.prior == "gaussian":
        return GaussianPrior(settings.prior_sd)
    if settings.prior == "scale_mixture":
        return ScaleMixturePrior(settings.prior_share, settings.prior_sd, settings.prior_sd_narrow)
    raise ValueError(f"prior = '{settings.prior}'; give one of {', '.join(PRIORS)}")
