"""The slow and obvious form of every update: plain NumPy, natural parameters, straight from the formulas.

The kernels are tested against this file. Sources: Hernandez-Lobato & Adams 2015
(moments, tilted distribution, prior refinement), Li et al. 2015 (SEP), Vinaroz & Park 2023 (algorithm 3).
Inputs ``x`` are one row with the bias last, shape (D,), ``y`` a number; both standardised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import erfc

from methods.ep._pbp.state import Naturals, PriorFactor, State

#: a weight's update is rejected when a precision leaves this open interval (program of Vinaroz & Park).
PRECISION_RANGE = (1e-20, 1e20)


@dataclass(frozen=True)
class Gradients:
    """Derivatives of log Z by mean (``m``) and variance (``v``) of each weight."""

    m1: np.ndarray
    v1: np.ndarray
    m2: np.ndarray
    v2: np.ndarray


def output_moments(m1, v1, m2, v2, x) -> tuple[float, float]:
    """Mean and variance of the network's output."""
    return _forward(m1, v1, m2, v2, x)[:2]


def log_normaliser(mean: float, variance: float, noise: float, y: float) -> float:
    """log N(y; mean, variance + noise) without the constant -log(2 pi)/2."""
    total = variance + noise
    return -0.5 * (np.log(total) + (y - mean) ** 2 / total)


def _forward(m1, v1, m2, v2, x):
    n1, n2 = m1.shape[1], len(m2)
    mean_a = m1 @ x / np.sqrt(n1)
    var_a = v1 @ x**2 / n1
    sd = np.sqrt(var_a)
    alpha = mean_a / sd
    cdf = 0.5 * erfc(-alpha / np.sqrt(2))
    pdf = np.exp(-0.5 * alpha**2) / np.sqrt(2 * np.pi)
    mean_z = mean_a * cdf + sd * pdf
    second = (mean_a**2 + var_a) * cdf + mean_a * sd * pdf
    var_z = np.maximum(second - mean_z**2, 0.0)
    z = np.append(mean_z, 1.0)
    zv = np.append(var_z, 0.0)
    mean = z @ m2 / np.sqrt(n2)
    variance = (zv @ (v2 + m2**2) + z**2 @ v2) / n2
    return mean, variance, z, zv, sd, cdf, pdf


def gradients(m1, v1, m2, v2, noise: float, x, y) -> Gradients:
    """Chain rule through output, layer 2, rectifier and layer 1 (``noise`` is the noise variance)."""
    n1, n2 = m1.shape[1], len(m2)
    mean, variance, z, zv, sd, cdf, pdf = _forward(m1, v1, m2, v2, x)
    total = variance + noise
    d_mean = (y - mean) / total
    d_var = 0.5 * ((y - mean) ** 2 / total**2 - 1.0 / total)
    g_m2 = d_mean * z / np.sqrt(n2) + d_var * 2 * m2 * zv / n2
    g_v2 = d_var * (zv + z**2) / n2
    d_z = (d_mean * m2 / np.sqrt(n2) + d_var * 2 * z * v2 / n2)[:-1]
    d_zv = (d_var * (v2 + m2**2) / n2)[:-1]
    z = z[:-1]
    d_mean_a = d_z * cdf + d_zv * 2 * z * (1 - cdf)
    d_var_a = d_z * pdf / (2 * sd) + d_zv * (cdf - z * pdf / sd)
    return Gradients(np.outer(d_mean_a, x) / np.sqrt(n1), np.outer(d_var_a, x**2) / n1, g_m2, g_v2)


def gamma_update(a: float, b: float, log_z: np.ndarray) -> tuple[float, float]:
    """Gamma that matches the first two moments of Gam(a, b) times the likelihood; ``log_z`` for a - 1, a, a + 1."""
    new_a = 1.0 / (np.exp(log_z[2] - 2 * log_z[1] + log_z[0]) * (a + 1) / a - 1.0)
    new_b = 1.0 / (np.exp(log_z[2] - log_z[1]) * (a + 1) / b - np.exp(log_z[1] - log_z[0]) * a / b)
    return new_a, new_b


def tilted(cavity: Naturals, x, y, *, freeze_noise: bool = False) -> Naturals:
    """Moments of cavity x likelihood, projected; as natural parameters. All right-hand sides use old values."""
    m1, v1 = cavity.eta1 / cavity.lam1, 1.0 / cavity.lam1
    m2, v2 = cavity.eta2 / cavity.lam2, 1.0 / cavity.lam2
    a, b = cavity.shape + 1.0, -cavity.rate
    g = gradients(m1, v1, m2, v2, b / (a - 1.0), x, y)
    new_m1, new_v1 = m1 + v1 * g.m1, v1 - v1**2 * (g.m1**2 - 2 * g.v1)
    new_m2, new_v2 = m2 + v2 * g.m2, v2 - v2**2 * (g.m2**2 - 2 * g.v2)
    shape, rate = cavity.shape, cavity.rate
    if not freeze_noise:
        mean, variance = output_moments(m1, v1, m2, v2, x)
        log_z = np.array([log_normaliser(mean, variance, b / (a - 1.0 + k), y) for k in range(3)])
        new_a, new_b = gamma_update(a, b, log_z)
        shape, rate = new_a - 1.0, -new_b
    return Naturals(new_m1 / new_v1, 1.0 / new_v1, new_m2 / new_v2, 1.0 / new_v2, shape, rate)


def accept(old: Naturals, new: Naturals, checked: tuple[Naturals, ...]) -> tuple[Naturals, int]:
    """``new`` where every factor of ``checked`` is a proper distribution, else ``old``; and how many were rejected.

    Weight by weight: a precision outside ``PRECISION_RANGE`` or NaN, or a mean natural that is NaN, rejects. The
    Gamma counts as one: a - 1 < 0, b < 0 or NaN in any factor rejects it.
    """
    low, high = PRECISION_RANGE
    ok = {}
    for layer in ("1", "2"):
        ok[layer] = np.ones_like(getattr(old, "lam" + layer), dtype=bool)
        for q in checked:
            lam, eta = getattr(q, "lam" + layer), getattr(q, "eta" + layer)
            ok[layer] &= (lam > low) & (lam < high) & ~np.isnan(eta)
    gamma_ok = all(q.shape >= 0 and q.rate <= 0 for q in checked)
    rejected = int((~ok["1"]).sum() + (~ok["2"]).sum()) + (0 if gamma_ok else 1)
    out = Naturals(
        np.where(ok["1"], new.eta1, old.eta1),
        np.where(ok["1"], new.lam1, old.lam1),
        np.where(ok["2"], new.eta2, old.eta2),
        np.where(ok["2"], new.lam2, old.lam2),
        new.shape if gamma_ok else old.shape,
        new.rate if gamma_ok else old.rate,
    )
    return out, rejected


def adf_step(q: Naturals, x, y) -> Naturals:
    """Assumed-density filtering, i.e. plain PBP: q is its own cavity.

    A weight whose new variance is <= 1e-100 or NaN keeps its values; the noise Gamma is never rejected.
    """
    new = tilted(q, x, y)
    out = []
    for layer in ("1", "2"):
        eta, lam = getattr(new, "eta" + layer), getattr(new, "lam" + layer)
        ok = (1.0 / lam > 1e-100) & ~np.isnan(eta)
        out += [np.where(ok, eta, getattr(q, "eta" + layer)), np.where(ok, lam, getattr(q, "lam" + layer))]
    return Naturals(*out, new.shape, new.rate)


def sep_step(
    q: Naturals,
    prior: Naturals,
    x,
    y,
    n: int,
    *,
    damping: float = 1.0,
    freeze_noise: bool = False,
    clip_blocks_at: float | None = None,
) -> tuple[Naturals, int]:
    """theta <- theta + damping (f_n - f) with f = (theta - theta_0) / n (Li et al. 2015). Returns also rejections."""
    f = (q - prior) * (1.0 / n)
    if freeze_noise:
        f = replace(f, shape=0.0, rate=0.0)
    cavity = q - f
    tilt = tilted(cavity, x, y, freeze_noise=freeze_noise)
    site = tilt - cavity
    if clip_blocks_at is not None:
        site = _proper_sites(site, cavity, tilt).clipped_per_block(clip_blocks_at)
    new = q - f * damping + site * damping
    return accept(q, new, (tilt, cavity, new))


def _proper_sites(site: Naturals, cavity: Naturals, tilt: Naturals) -> Naturals:
    """Zero where the cavity or the tilted distribution of a weight is improper, so that norms stay finite."""
    return accept(Naturals.zeros(*site.eta1.shape), site, (tilt, cavity))[0]


def ep_step(q: Naturals, site: Naturals, x, y, damping: float = 0.4) -> tuple[Naturals, Naturals, int]:
    """Site <- (1 - damping) site + damping f_n; theta moves by the change of the site. A rejection keeps both."""
    cavity = q - site
    tilt = tilted(cavity, x, y)
    new_site = site * (1.0 - damping) + (tilt - cavity) * damping
    new = q - site + new_site
    out, rejected = accept(q, new, (tilt, cavity, new))
    kept, _ = accept(site, new_site, (tilt, cavity, new))
    return out, kept, rejected


def propose(theta: Naturals, theta_0: Naturals, x, y, n: int, gamma: float, clip: float) -> Naturals:
    """Lines 4 to 8 of algorithm 3: (gamma/N) theta_fn + (N - gamma/N) theta_f + theta_0, with the site clipped.

    ``theta`` = theta_0 + N theta_f.
    """
    theta_f = (theta - theta_0) * (1.0 / n)
    cavity = theta_0 + theta_f * (n - 1)
    site = (tilted(cavity, x, y) - cavity).clipped(clip)
    return site * (gamma / n) + theta_f * (n - gamma / n) + theta_0


def refine_prior(state: State, prior: PriorFactor) -> tuple[State, PriorFactor]:
    """One pass over the prior factors, weight by weight, layer 1 then layer 2, updating the shared (a_w, b_w).

    A weight is skipped unless its cavity has 0 < variance < 1e6, shape > 1 and rate > 0.
    """
    a_w, b_w = state.a_w, state.b_w
    moments, factors = {}, {}
    for layer in ("1", "2"):
        m, v = getattr(state, "m" + layer).copy(), getattr(state, "v" + layer).copy()
        eta, lam = getattr(prior, "eta" + layer).copy(), getattr(prior, "lam" + layer).copy()
        shape, rate = getattr(prior, "shape" + layer).copy(), getattr(prior, "rate" + layer).copy()
        for i in np.ndindex(m.shape):
            v_c = 1.0 / (1.0 / v[i] - lam[i]) if 1.0 / v[i] != lam[i] else np.inf
            m_c = (m[i] / v[i] - eta[i]) * v_c
            a_c, b_c = a_w - shape[i], b_w + rate[i]
            if not (0 < v_c < 1e6 and b_c > 0 and a_c > 1):
                continue
            total = np.array([v_c + b_c / (a_c - 1 + k) for k in range(3)])
            log_z = -0.5 * np.log(total) - 0.5 * m_c**2 / total
            g_m = -m_c / total[0]
            g_v = -0.5 / total[0] + 0.5 * m_c**2 / total[0] ** 2
            m[i], v[i] = m_c + v_c * g_m, v_c - v_c**2 * (g_m**2 - 2 * g_v)
            a_w, b_w = gamma_update(a_c, b_c, log_z)
            eta[i], lam[i] = m[i] / v[i] - m_c / v_c, 1.0 / v[i] - 1.0 / v_c
            shape[i], rate[i] = a_w - a_c, -b_w + b_c
        moments |= {"m" + layer: m, "v" + layer: v}
        factors |= {"eta" + layer: eta, "lam" + layer: lam, "shape" + layer: shape, "rate" + layer: rate}
    return replace(state, **moments, a_w=a_w, b_w=b_w), PriorFactor(**factors)
