"""Models of the common tasks, whose inputs are scaled to [-1, 1] so that every method gets the same rows.

All compared methods get their rows through one map, the :class:`Frame`: each column becomes u = (x - shift) / scale,
clipped to [-1, 1]. If the documentation of a data set gives the range of a column, that range is mapped to [-1, 1].
Otherwise the mean plus and minus three standard deviations is mapped. A private method then estimates both from its
budget (``methods._shared.frames``). Prior and likelihood are stated for the scaled columns:

=============================  ================================================================================
``bounded_linear_regression``  y ~ N(w . [x, 1], v), v ~ InvGamma(shape, scale), w | v ~ N(0, v / precision I)
``bounded_logistic_regression`` y ~ Bernoulli(sigmoid(w . [x, 1])), w ~ N(0, prior_sd^2 I)
``bounded_mixture``            mixture of isotropic Gaussians, known noise and equal weights, for 3 u (so that a
                               column has a standard deviation near 1)
=============================  ================================================================================

``inner`` of each model is the same model for rows that are already scaled, which the methods fit. Its columns are in
[-stretch, stretch]. ``scales_target`` says whether the target is scaled too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from models import posteriors, tiny
from models.kind import CONJUGATE, Kind
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.logistic_regression_normal_prior import LogisticRegressionNormalPrior
from models.mixture_of_gaussians import MixtureOfGaussians
from models.task import PublicKnowledge, Task

#: half width of the scaled range of a column without a documented range, in standard deviations.
DEVIATIONS = 3.0


@dataclass(frozen=True)
class BoundedLinearRegression:
    """Linear regression on scaled inputs. All its fields are public. The defaults suit a target in [-1, 1].

    Parameters
    ----------
    shape, scale : parameters of the inverse-gamma prior of the noise variance v, with mean scale / (shape - 1).
    precision : a weight has prior variance v / precision.
    """

    shape: float = 2.0
    scale: float = 0.02
    precision: float = 0.02
    kind: str = "bounded_linear_regression"
    stretch: ClassVar[float] = 1.0
    scales_target: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.inner

    @property
    def inner(self) -> LinearRegressionUnknownNoise:
        return LinearRegressionUnknownNoise(self.shape, self.scale, self.precision)


@dataclass(frozen=True)
class BoundedLogisticRegression:
    """Logistic regression on scaled inputs. All its fields are public.

    ``prior_sd`` is the prior standard deviation of each weight and the intercept: 1, as in NA-DPVI's Adult experiment.
    """

    prior_sd: float = 1.0
    kind: str = "bounded_logistic_regression"
    stretch: ClassVar[float] = 1.0
    scales_target: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _ = self.inner

    @property
    def inner(self) -> LogisticRegressionNormalPrior:
        return LogisticRegressionNormalPrior(prior_sd=self.prior_sd)


@dataclass(frozen=True)
class BoundedMixture:
    """A mixture for inputs 3 u. All its fields are public, as in ``models.mixture_of_gaussians.MixtureOfGaussians``."""

    components: int
    noise_sd: float | None = 0.5
    prior_variance: float = 1.0
    prior_seed: int = 0
    kind: str = "bounded_mixture"
    stretch: ClassVar[float] = DEVIATIONS
    scales_target: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _ = self.inner

    @property
    def inner(self) -> MixtureOfGaussians:
        return MixtureOfGaussians(self.components, self.noise_sd, self.prior_variance, self.prior_seed)


@dataclass(frozen=True)
class Frame:
    """The scaling: a map from original units to scaled ones.

    ``x_shift``, ``x_scale``: (d,). A column with an infinite scale is left out of the fit. ``y_shift``, ``y_scale``: 0
    and 1 if there is no target to scale. ``stretch``: scaled inputs are in [-stretch, stretch] (3 for the mixture, else
    1).
    """

    x_shift: np.ndarray
    x_scale: np.ndarray
    y_shift: float = 0.0
    y_scale: float = 1.0
    stretch: float = 1.0

    @property
    def kept(self) -> np.ndarray:
        """Whether each column is in the fit, (d,)."""
        return np.isfinite(self.x_scale)

    def x(self, x: np.ndarray, clip: bool = True) -> np.ndarray:
        """Scale inputs (n, d) in original units: (n, columns in the fit).

        If there is no such column, the result has one column of zeros, because methods need an input.
        """
        x, shift, scale = np.asarray(x, dtype=np.float64), self.x_shift, self.x_scale
        if not (kept := self.kept).any():
            return np.zeros((len(x), 1))
        if not kept.all():
            x, shift, scale = x[:, kept], shift[kept], scale[kept]
        u = x - shift
        u /= scale  # in place, to make no second copy of many rows
        if clip:
            np.clip(u, -1.0, 1.0, out=u)
        u *= self.stretch
        return u

    def y(self, y: np.ndarray, clip: bool = True) -> np.ndarray:
        """Scale targets (n,) in original units: (n,)."""
        u = (np.asarray(y, dtype=np.float64) - self.y_shift) / self.y_scale
        return np.clip(u, -1.0, 1.0) if clip else u

    def task(self, task: Task) -> Task:
        """The task with scaled rows and the inner model. Classes stay 0 and 1."""
        y = task.y
        if task.model.scales_target:
            y = self.y(y)
        public, x = PublicKnowledge(n=task.public.n), self.x(task.x)
        x.setflags(write=False)  # so that the task makes no copy
        return replace(task, model=task.model.inner, x=x, y=y, public=public)

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "frame_x_shift": self.x_shift,
            "frame_x_scale": self.x_scale,
            "frame_y": np.array([self.y_shift, self.y_scale, self.stretch]),
        }


@dataclass(frozen=True)
class FramedPosterior:
    """A posterior for scaled rows, and the scaling. ``posterior`` is a posterior of the inner model."""

    posterior: object
    frame: Frame
    kind: str = "framed"

    def parameters(self) -> dict[str, np.ndarray]:
        name = np.frombuffer(self.posterior.kind.encode(), np.uint8)  # archives are compared as arrays of numbers
        return {**self.frame.parameters(), "inner_kind": name, **self.posterior.parameters()}

    def predictive(self, x: np.ndarray, rng: np.random.Generator):
        """The prediction for rows x (n, d) in original units: class probabilities, or the target in original units."""
        inner = self.posterior.predictive(self.frame.x(x), rng)
        f = self.frame
        return inner if (f.y_shift, f.y_scale) == (0.0, 1.0) else FramedPredictive(inner, f.y_shift, f.y_scale)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """The log-density under a mixture of rows x (n, d) in original units: (n,), nats, per unit of the columns."""
        f = self.frame
        return self.posterior.log_density(f.x(x, clip=False)) - float(np.log(f.x_scale / f.stretch).sum())

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n draws of theta of a regression on scaled inputs, (n, D); see ``models.unconstrained``."""
        return self.posterior.sample(n, rng)


@dataclass(frozen=True)
class FramedPredictive:
    """A prediction of the scaled target u, converted to original units: y = shift + scale u."""

    inner: object
    shift: float
    scale: float

    @property
    def mean(self) -> np.ndarray:
        return self.shift + self.scale * np.asarray(self.inner.mean)

    @property
    def variance(self) -> np.ndarray:
        return self.scale**2 * np.asarray(self.inner.variance)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """The log-density of targets (n,): (n,), nats, per unit of the target."""
        return self.inner.log_density((np.asarray(y) - self.shift) / self.scale) - math.log(self.scale)


def load(kind: str, p: dict[str, np.ndarray]) -> FramedPosterior:
    """Rebuild the posterior and its inner posterior from their parameters. Raises KeyError for another kind."""
    if kind != "framed":
        raise KeyError(f"models/bounded.py holds framed, not '{kind}'")
    inner = {k: v for k, v in p.items() if not k.startswith("frame_") and k != "inner_kind"}
    y_shift, y_scale, stretch = (float(v) for v in p["frame_y"])
    frame = Frame(p["frame_x_shift"], p["frame_x_scale"], y_shift, y_scale, stretch)
    return FramedPosterior(posteriors.load(bytes(p["inner_kind"]).decode(), inner), frame)


KINDS = (
    Kind(
        name="bounded_linear_regression",
        model=BoundedLinearRegression,
        posteriors=(FramedPosterior,),
        scorer="evaluation.scorers:regression_with_intervals",
        exact=CONJUGATE,
        references=("exact_posterior",),
        tiny={"bounded_linear_regression": partial(tiny.regression, BoundedLinearRegression())},
    ),
    Kind(
        name="bounded_logistic_regression",
        model=BoundedLogisticRegression,
        posteriors=(FramedPosterior,),
        target="classification",
        scorer="evaluation.scorers:class_probabilities",
        exact="nuts",
        references=("nuts",),
        tiny={"bounded_logistic_regression": partial(tiny.two_classes, BoundedLogisticRegression())},
    ),
    Kind(
        name="bounded_mixture",
        model=BoundedMixture,
        posteriors=(FramedPosterior,),
        target="density",
        scorer="evaluation.scorers:density",
        references=("em", "vi"),
        tiny={"bounded_mixture": partial(tiny.density, BoundedMixture(2))},
    ),
)
