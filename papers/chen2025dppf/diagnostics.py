"""Monte Carlo error of chains, and the effective sample size of R's package coda, which the source prints.

:mod:`evaluation.convergence` has R-hat and the current effective sample sizes.
"""

from __future__ import annotations

import math

import numpy as np


def split(draws: np.ndarray) -> np.ndarray:
    """Chains (m, n) as halves, (2 m, n // 2)."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _ess(chains: np.ndarray) -> float:
    """Effective sample size of chains (m, n), by Geyer's initial monotone sequence."""
    m, n = chains.shape
    centred = chains - chains.mean(axis=1, keepdims=True)
    size = 2 ** math.ceil(math.log2(2 * n))
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), size, axis=1)[:, :n] / n
    within = covariance[:, 0].mean() * n / (n - 1)
    var = within * (n - 1) / n + (chains.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    rho = 1.0 - (within - covariance.mean(axis=0) * n / (n - 1)) / var
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    positive = len(pairs) if (pairs > 0).all() else int(np.argmax(pairs <= 0))
    total = -1.0 + 2.0 * float(np.minimum.accumulate(pairs[: max(positive, 1)]).sum())
    return min(m * n / max(total, 1.0 / math.log10(m * n)), m * n * math.log10(m * n))


def mean_error(draws: np.ndarray) -> float:
    """Monte Carlo standard error of the mean of ``draws`` (m, n)."""
    return float(draws.std(ddof=1) / math.sqrt(_ess(split(draws))))


def coda_ess(x: np.ndarray) -> float:
    """Effective sample size of ``x`` (n,): n var(x) / spectral density at 0, as in R's coda::effectiveSize."""
    n = len(x)
    if not x.std() > 0:
        return 0.0
    most = min(n - 1, int(10 * math.log10(n)))
    d = x - x.mean()
    r = np.array([d[: n - k] @ d[k:] for k in range(most + 1)]) / n
    a, var, best = np.zeros(0), r[0], (n * math.log(r[0]) + 0.0, 0, np.zeros(0), r[0])
    for p in range(1, most + 1):
        k = (r[p] - a @ r[p - 1 : 0 : -1]) / var if p > 1 else r[1] / r[0]
        a = np.append(a - k * a[::-1], k)
        var *= 1.0 - k * k
        score = n * math.log(var) + 2 * p
        if score < best[0]:
            best = (score, p, a, var)
    _, order, a, var = best
    spectrum = var * n / (n - order - 1) / (1.0 - a.sum()) ** 2
    return float(n * x.var(ddof=1) / spectrum)
