"""Draws of exact posteriors given a private release: ``python -m papers.chen2025dppf.stored``.

Writes ``reference/posteriors/<name>.json`` and ``.npz`` for the releases of 300 rows, both priors and all epsilons.
The draws are those from which ``posteriors.csv`` is made. ``dpbayes_bench.reference_posterior`` reads them.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from datasets.files import replacing, write_json
from evaluation.convergence import told_of
from papers.chen2025dppf import chains, checks, published, releases

FOLDER = Path(__file__).resolve().parent / "reference" / "posteriors"
ROWS = 300
MODEL = {
    "rows": "x ~ N(mu, 1 / phi), y ~ N(beta0 + beta1 x, 1 / tau), independent, n public",
    "release": "sums of y, xy, yy, x, xx over the rows, clipped to [-5, 5] and divided by 5, with Laplace noise",
    "conjugate": "mu ~ N(0, 1), phi ~ Gamma(1, rate 1/2), tau ~ Gamma(1, rate 1), beta | tau ~ N(0, I / tau)",
    "heavy": "mu ~ t_2, phi ~ |t_2|, tau ~ Weibull(shape 2, scale 1.25), beta ~ bivariate t_2",
}
#: note in the summary.
NOTE = (
    "beta has no posterior variance under either prior, and mu and phi have none under the heavy one: read quantiles "
    "of them, not mean, sd and mcse"
)


def names() -> dict[str, tuple[str, float]]:
    """Name of a stored posterior -> its prior and epsilon."""
    return {f"chen_lr-{p}-n={ROWS}-epsilon={e:g}": (p, e) for p in ("conjugate", "heavy") for e in checks.EPSILONS}


def compute(name: str) -> tuple[dict[str, Any], np.ndarray]:
    """Contents of the JSON file, and draws (chains, samples, 5) in single precision.

    Raises ValueError if the chains have not converged.
    """
    prior, epsilon = names()[name]
    s, b = published.release("chen_lr", epsilon, ROWS), releases.scale_of("chen_lr", epsilon)
    draws = chains.posterior(s, ROWS, b, prior, checks.stream("chen_lr", prior, epsilon, ROWS, 1), checks.LENGTH)
    info = {
        "task": name,
        "how": "data augmentation with non-centred moves",
        "model": {k: MODEL[k] for k in ("rows", "release")} | {"prior": MODEL[prior]},
        "release": {"values": s.tolist(), "noise": "laplace", "scale": b, "n": ROWS, "claimed_epsilon": epsilon},
        "settings": asdict(checks.LENGTH),
        "parameters": list(chains.NAMES),
        "note": NOTE,
        "versions": {p: importlib.metadata.version(p) for p in ("numpy", "numba", "arviz-stats")},
    }
    text = json.dumps({k: info[k] for k in ("task", "how", "model", "release", "settings")}, sort_keys=True)
    info["hash"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    draws = draws.astype(np.float32)
    return info | told_of(draws), draws


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m papers.chen2025dppf.stored", description="Exact posteriors of private releases, stored."
    )
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--only", nargs="+", choices=sorted(names()), help="default: all")
    options = parser.parse_args(argv)
    for name in options.only or names():
        info, draws = compute(name)
        with replacing(options.out / f"{name}.npz") as f:
            np.savez_compressed(f, draws=draws)
        write_json(options.out / f"{name}.json", info)
        print(f"{name}: {info['diagnostics']}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
