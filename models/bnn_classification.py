"""Bayesian neural network for classification: ReLU layers, a bias in every layer, softmax output.

y | x, w ~ Categorical(softmax(f_w(x / input_scale))). Weights and biases are independent with the same prior, a
Gaussian or a scale mixture (Blundell, Cornebise, Kavukcuoglu & Wierstra 2015, section 3.3).

Weights are one flat vector. It holds layer after layer, each as a (fan-in + 1, fan-out) block in row order whose last
row is the bias (:func:`layers`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.special import log_softmax

from models import tiny
from models.kind import Kind


@dataclass(frozen=True)
class BNNClassification:
    """The model: ``hidden_layers`` layers of ``hidden`` ReLU units and ``classes`` outputs. All its fields are public.

    Inputs are divided by ``input_scale``, such as 255 for pixels.
    """

    hidden: int = 400
    hidden_layers: int = 2
    classes: int = 10
    input_scale: float = 255.0
    kind: str = "bnn_classification"

    def __post_init__(self) -> None:
        for key, least in (("hidden", 1), ("hidden_layers", 1), ("classes", 2)):
            value = getattr(self, key)
            if int(value) != value or value < least:
                raise ValueError(f"bnn_classification: {key} = {value}; give a whole number of at least {least}")
        if not (math.isfinite(self.input_scale) and self.input_scale > 0):
            raise ValueError(f"bnn_classification: input_scale = {self.input_scale}; give a finite number above 0")

    def widths(self, inputs: int) -> tuple[int, ...]:
        """The widths of all layers: (inputs, hidden, ..., classes)."""
        return (int(inputs), *(self.hidden,) * self.hidden_layers, self.classes)


def size(widths) -> int:
    """The number of weights and biases."""
    return sum((a + 1) * b for a, b in itertools.pairwise(widths))


def layers(weights, widths) -> list:
    """Views of the flat vector (D,): one (fan-in + 1, fan-out) array or tensor per layer, bias last."""
    out, start = [], 0
    for fan_in, fan_out in itertools.pairwise(widths):
        stop = start + (fan_in + 1) * fan_out
        out.append(weights[start:stop].reshape(fan_in + 1, fan_out))
        start = stop
    return out


def logits(weights: np.ndarray, widths, x: np.ndarray) -> np.ndarray:
    """The outputs f_w(x), (n, classes), for scaled inputs x (n, d)."""
    *hidden, last = layers(weights, widths)
    a = x
    for w in hidden:
        a = np.maximum(a @ w[:-1] + w[-1], 0)
    return a @ last[:-1] + last[-1]


@dataclass(frozen=True)
class GaussianPrior:
    """The prior N(0, sd^2) on every weight and bias."""

    sd: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sd) and self.sd > 0):
            raise ValueError(f"gaussian prior: sd = {self.sd}; give a finite number above 0")

    def log_density(self, w: np.ndarray) -> np.ndarray:
        """log P(w), elementwise, nats."""
        return _log_normal(np.asarray(w, dtype=np.float64), self.sd)


@dataclass(frozen=True)
class ScaleMixturePrior:
    """The prior share N(0, sd_wide^2) + (1 - share) N(0, sd_narrow^2) on each weight (Blundell et al. 2015, eq. 7)."""

    share: float = 0.5
    sd_wide: float = 1.0
    sd_narrow: float = math.exp(-6.0)

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"scale mixture prior: share = {self.share}; give a number between 0 and 1")
        if not (0 < self.sd_narrow < self.sd_wide < math.inf):
            raise ValueError(
                f"scale mixture prior: sd_wide = {self.sd_wide}, sd_narrow = {self.sd_narrow}; give finite numbers "
                "with 0 < sd_narrow < sd_wide"
            )

    def log_density(self, w: np.ndarray) -> np.ndarray:
        """log P(w), elementwise, nats."""
        w = np.asarray(w, dtype=np.float64)
        return np.logaddexp(
            math.log(self.share) + _log_normal(w, self.sd_wide),
            math.log1p(-self.share) + _log_normal(w, self.sd_narrow),
        )


def _log_normal(w: np.ndarray, sd: float) -> np.ndarray:
    return -0.5 * (w / sd) ** 2 - math.log(sd) - 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True)
class CategoricalPredictive:
    """A predictive distribution per row over classes, by ``log_probabilities`` (n, classes) in nats."""

    log_probabilities: np.ndarray

    @property
    def probabilities(self) -> np.ndarray:
        return np.exp(self.log_probabilities)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log P(y_i | x_i), (n,), nats. Raises ValueError for a label that is not a class 0, 1, ..."""
        n, classes = self.log_probabilities.shape
        y = np.asarray(y, dtype=np.float64)
        if y.shape != (n,) or not np.isin(y, np.arange(classes)).all():
            raise ValueError(f"labels must be {n} whole numbers from 0 to {classes - 1}")
        return self.log_probabilities[np.arange(n), y.astype(np.int64)]


@dataclass(frozen=True)
class Snapshots:
    """Weights during training: ``weights`` (k, D), float16, after ``epochs`` (k,) passes over the rows."""

    epochs: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    weights: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.float16))

    @classmethod
    def of(cls, kept: list[tuple[int, np.ndarray]]) -> Snapshots:
        """Snapshots from pairs (epoch, weights), with weights of shape (D,)."""
        return cls(np.array([e for e, _ in kept], dtype=np.int64), np.stack([w for _, w in kept])) if kept else cls()

    def parameters(self) -> dict[str, np.ndarray]:
        return {"snapshot_epochs": self.epochs, "snapshot_weights": self.weights} if len(self.epochs) else {}


@dataclass(frozen=True)
class ClassifierMeanField:
    """The posterior q(w) = product of N(mean, sd^2), both (D,) float32. Predictions average ``draws`` draws of w.

    ``snapshots`` holds the means during training.
    """

    mean: np.ndarray
    sd: np.ndarray
    widths: tuple[int, ...]
    input_scale: float
    draws: int
    snapshots: Snapshots = Snapshots()
    kind: str = "classifier_mean_field"

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "mean": self.mean,
            "sd": self.sd,
            "widths": np.array(self.widths, dtype=np.int64),
            "input_scale": np.float64(self.input_scale),
            "draws": np.int64(self.draws),
            **self.snapshots.parameters(),
        }

    def predictive(self, x: np.ndarray, rng: np.random.Generator) -> CategoricalPredictive:
        """The mean softmax over draws of w for rows x (n, d) in original units. All rows share the draws."""
        x = (np.asarray(x) / self.input_scale).astype(np.float32)
        total = np.full((len(x), self.widths[-1]), -np.inf)
        for _ in range(self.draws):
            w = self.mean + self.sd * rng.standard_normal(len(self.mean), dtype=np.float32)
            total = np.logaddexp(total, log_softmax(logits(w, self.widths, x).astype(np.float64), axis=1))
        return CategoricalPredictive(total - math.log(self.draws))


@dataclass(frozen=True)
class ClassifierPoint:
    """A point estimate: one vector of weights (D,), float32."""

    weights: np.ndarray
    widths: tuple[int, ...]
    input_scale: float
    snapshots: Snapshots = Snapshots()
    kind: str = "classifier_point"

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "weights": self.weights,
            "widths": np.array(self.widths, dtype=np.int64),
            "input_scale": np.float64(self.input_scale),
            **self.snapshots.parameters(),
        }

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> CategoricalPredictive:
        """The softmax of the network for rows x (n, d) in original units."""
        x = (np.asarray(x) / self.input_scale).astype(np.float32)
        return CategoricalPredictive(log_softmax(logits(self.weights, self.widths, x).astype(np.float64), axis=1))


def load(kind: str, p: dict[str, np.ndarray]) -> ClassifierMeanField | ClassifierPoint:
    """Rebuild a posterior from its parameters. Raises KeyError for another kind."""
    if kind not in ("classifier_mean_field", "classifier_point"):
        raise KeyError(f"models/bnn_classification.py holds classifier_mean_field and classifier_point, not '{kind}'")
    widths, scale = tuple(int(w) for w in p["widths"]), float(p["input_scale"])
    snapshots = Snapshots(p["snapshot_epochs"], p["snapshot_weights"]) if "snapshot_epochs" in p else Snapshots()
    if kind == "classifier_point":
        return ClassifierPoint(p["weights"], widths, scale, snapshots)
    return ClassifierMeanField(p["mean"], p["sd"], widths, scale, int(p["draws"]), snapshots)


KIND = Kind(
    name="bnn_classification",
    model=BNNClassification,
    posteriors=(ClassifierMeanField, ClassifierPoint),
    target="classification",
    scorer="evaluation.scorers:classes",
    tiny={"bnn_classification": partial(tiny.three_classes, BNNClassification(3, 2, 3, 2.0))},
)
