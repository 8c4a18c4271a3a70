"""Mean-field Gaussian over the weights: w = mean + s xi, s = softplus(rho), with xi ~ N(0, I) drawn once per step.

All functions read only the gradients of the data term, the draw xi and the variational parameters. The gradients of a
private method are released ones, so all of this is post-processing.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from methods._shared.bayes_by_backprop import kernels
from methods._shared.bayes_by_backprop.gradients import device
from methods._shared.bayes_by_backprop.training import Rows
from models.bnn_classification import (
    ClassifierMeanField,
    ClassifierPoint,
    GaussianPrior,
    ScaleMixturePrior,
    Snapshots,
    layers,
    size,
)
from privacy.normal import NormalStream

#: smallest number of normals for which the compiled stream is used.
_FAST_FROM = 256


def in_double_precision_on_a_cpu(v: torch.Tensor) -> bool:
    """Whether the compiled code of ``kernels`` takes this tensor."""
    return v.device.type == "cpu" and v.dtype == torch.float64


class Normals:
    """Standard normal vectors (D,) in double precision from one generator."""

    def __init__(self, count: int, rng: np.random.Generator):
        self._out, self._rng = np.empty(count), rng
        self._stream = NormalStream(rng) if count >= _FAST_FROM else None

    def draw(self, out: torch.Tensor) -> torch.Tensor:
        """Fill ``out`` (D,) on any device, in double or single precision."""
        values = out.numpy() if in_double_precision_on_a_cpu(out) else self._out
        if self._stream is None:
            self._rng.standard_normal(out=values)
        else:
            self._stream.fill(values, 1.0)
        return out if values is not self._out else out.copy_(torch.from_numpy(values))


def start(widths, rng: np.random.Generator) -> torch.Tensor:
    """Starting weights (D,), float64: N(0, 2 / fan-in), biases 0 (He, Zhang, Ren & Sun 2015, equation 10)."""
    out = np.zeros(size(widths))
    for block in layers(out, widths):
        block[:-1] = rng.standard_normal(block[:-1].shape) * math.sqrt(2.0 / (len(block) - 1))
    return torch.from_numpy(out).to(device())


def minus_score(prior: GaussianPrior | ScaleMixturePrior, w: torch.Tensor) -> torch.Tensor:
    """-d log P(w) / dw, elementwise.

    For the scale mixture it is

        r w / sd_wide^2 + (1 - r) w / sd_narrow^2,

    with r the probability that w came from the wide component.
    """
    if isinstance(prior, GaussianPrior):
        return w / prior.sd**2
    wide, narrow = prior.sd_wide**-2, prior.sd_narrow**-2
    odds = math.log(prior.share / (1.0 - prior.share)) + math.log(prior.sd_narrow / prior.sd_wide)
    r = (w * w).mul_(0.5 * (narrow - wide)).add_(odds).sigmoid_()
    return r.mul_(wide - narrow).add_(narrow).mul_(w)


class Recorder:
    """Keeps weights in half precision after the requested epochs, for learning curves."""

    def __init__(self, epochs: tuple[int, ...], steps_an_epoch: float = 1.0):
        self._due = {round(e * steps_an_epoch): e for e in epochs}
        self._kept: list[tuple[int, np.ndarray]] = []

    def after(self, steps: int, w: torch.Tensor) -> None:
        """Record the weights ``w`` (D,) after ``steps`` steps, if requested."""
        if steps in self._due:
            self._kept.append((self._due[steps], w.cpu().numpy().astype(np.float16)))

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots.of(self._kept)


class MeanField:
    """Variational parameters ``mean`` and ``rho`` (D,), and the draw of the current step."""

    def __init__(self, mean: torch.Tensor, rho_start: float):
        self.mean = mean
        self.rho = torch.full_like(mean, rho_start)
        # Vectors of the step, allocated once: allocation would take longer than the arithmetic.
        self.xi, self.s, self.w, self._slope, self._spare = (torch.empty_like(mean) for _ in range(5))

    def draw(self, normals: Normals) -> torch.Tensor:
        """w = mean + s xi with a fresh xi, (D,); valid until the next draw."""
        normals.draw(self.xi)
        if in_double_precision_on_a_cpu(self.rho):
            kernels.draw(*(v.numpy() for v in (self.mean, self.rho, self.xi, self.s, self._slope, self.w)))
            return self.w
        torch.nn.functional.softplus(self.rho, out=self.s)
        torch.sigmoid(self.rho, out=self._slope)
        return torch.addcmul(self.mean, self.s, self.xi, out=self.w)

    def gradients(
        self, data: torch.Tensor, weight: float, prior: GaussianPrior | ScaleMixturePrior
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Unbiased gradient in (mean, rho) of E_q[data loss] + weight KL(q | prior), at the current draw.

        With u = data - weight d log P(w) / dw and s' = ds / drho = 1 / (1 + exp(-rho)), it is

            (u, s' xi u - weight s' / s)

        (Blundell et al. 2015, section 3.2). The two terms of log q that cancel in expectation are left out. A Gaussian
        prior enters by its KL in closed form, which gives the same gradient with less variance.

        Parameters
        ----------
        data : (D,), gradient in w of the data loss at the current draw; overwritten. Both results are valid until the
            next call.
        weight : kappa / N if the data loss is a mean over N rows.
        """
        rho, slope = self._spare, self._slope
        if isinstance(prior, GaussianPrior):
            pull = weight / prior.sd**2
            torch.mul(data, self.xi, out=rho).add_(self.s, alpha=pull)
            mean = data.add_(self.mean, alpha=pull)
        else:
            mean = data.add_(minus_score(prior, self.w), alpha=weight)
            torch.mul(mean, self.xi, out=rho)
        rho.mul_(slope).addcdiv_(slope, self.s, value=-weight)
        return mean, rho

    def printed_gradients(
        self, data: torch.Tensor, weight: float, prior: GaussianPrior | ScaleMixturePrior
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(Delta_mu, Delta_rho) of the note's algorithm 1, at the current draw. Arguments as in :meth:`gradients`.

        With g = data - weight d log P(w) / dw they are

            (g + weight xi / s, s' xi g + weight (xi^2 - 1) s' / s).

        The second terms are the note's m_b and r_b, read as gradients of log q(w | mu, rho); the note prints P for q
        and no logarithm. The path term d log q / dw = -xi / s is missing from g. So the mean of Delta_rho has no
        gradient of the entropy, -s' / s. Delta_mu has noise of standard deviation 1 / s that would otherwise cancel.
        """
        rho, slope = self._spare, self._slope
        g = data.add_(minus_score(prior, self.w), alpha=weight)
        torch.mul(self.xi, self.xi, out=rho).sub_(1.0).div_(self.s).mul_(weight)
        rho.addcmul_(g, self.xi).mul_(slope)
        return g.addcdiv_(self.xi, self.s, value=weight), rho

    def step(
        self, total: torch.Tensor, share: float, weight: float, prior: GaussianPrior | ScaleMixturePrior, rate: float,
        rho_rate: float,
    ) -> None:  # fmt: skip
        """:meth:`descend` along :meth:`gradients`, where the data loss has the gradient ``share`` times ``total`` (D,).

        ``total`` may be overwritten.
        """
        if in_double_precision_on_a_cpu(self.rho) and isinstance(prior, GaussianPrior):
            vectors = (self.mean, self.rho, self.xi, self.s, self._slope, total)
            pull = weight / prior.sd**2
            kernels.descend(*(v.numpy() for v in vectors), share, pull, weight, rate, rate * rho_rate)
        else:
            self.descend(self.gradients(total.mul_(share), weight, prior), rate, rho_rate)

    def descend(self, gradients: tuple[torch.Tensor, torch.Tensor], rate: float, rho_rate: float) -> None:
        """mean -= rate g_mean, rho -= rate rho_rate g_rho."""
        self.mean.sub_(gradients[0], alpha=rate)
        self.rho.sub_(gradients[1], alpha=rate * rho_rate)

    @property
    def finite(self) -> bool:
        return bool(torch.isfinite(self.mean).all() and torch.isfinite(self.rho).all())

    def posterior(self, rows: Rows, draws: int, recorder: Recorder) -> ClassifierMeanField:
        s = torch.nn.functional.softplus(self.rho)
        return ClassifierMeanField(
            _stored(self.mean), _stored(s), tuple(rows.widths), rows.input_scale, draws, recorder.snapshots
        )


def optimiser(settings, groups: list[dict]) -> torch.optim.Optimizer:
    """torch's SGD with momentum, or Adam with its default constants, on tensors whose ``grad`` the caller sets."""
    if settings.optimiser == "adam":
        return torch.optim.Adam(groups, lr=settings.learning_rate, fused=True)
    return torch.optim.SGD(groups, lr=settings.learning_rate, momentum=settings.momentum, fused=True)


def point(w: torch.Tensor, rows: Rows, recorder: Recorder) -> ClassifierPoint:
    return ClassifierPoint(_stored(w), tuple(rows.widths), rows.input_scale, recorder.snapshots)


def _stored(w: torch.Tensor) -> np.ndarray:
    return w.cpu().numpy().astype(np.float32)
