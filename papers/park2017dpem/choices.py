"""A second, independent implementation of DP-EM on Life Science, and the effect of each of its choices.

    python -m workflow.extra park2017dpem dpem_choices.csv

Nothing of ``methods.em`` is imported. Sensitivities, noise, composition, start, repairs and stopping are derived again
from the authors' code. The test of this module compares them with the method's. The choices are those in which another
implementation could differ.

There is one row per setting (noise, composition, epsilon) and choice. It has the mean test log-likelihood per row
(nats) over 10 folds and :data:`REPEATS` seeds, or over fewer below full scale (:data:`SIZES`). It also has the
difference from the run with the authors' own choices, on the same folds and random numbers, and the standard errors
over the runs.

Rows are divided by the largest norm of a training row. The score is in the units of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import multigammaln

from datasets.protocols import folds
from workflow.extra import Request, text_of

COMPONENTS, CHARGED_STEPS, DELTA, DELTA_OF_ONE = 3, 10, 1e-4, 1e-6
#: normal-inverse-Wishart and Dirichlet prior of the authors' code, with mean 0, kappa0, S0 = scale I, nu0 = d + 1 and
#: this concentration.
KAPPA0, PRIOR_SCALE, CONCENTRATION = 1.01, 0.1, 2.0
#: the authors' code stops if log-likelihood + log prior change by less than this fraction.
TOLERANCE = 1e-4
#: eps' of the moments accountant is one of the authors' 200 grid points.
GRID = (0.001, 0.999, 200)
#: seeds of each fold at full scale.
REPEATS = 2
Scores = dict[tuple[str, str], list[float]]
COLUMNS = ("cell", "heavy", "choice", "runs", "mean", "standard_error", "shift", "shift_standard_error")


@dataclass(frozen=True)
class Cell:
    """A setting of the experiment. ``heavy``: one of the six in which an unavailable port of the code scores lower."""

    noise: str  #: "GGG": Gaussian on weights, means, covariances; "LLG": Laplace on the first two
    composition: str
    epsilon: float
    heavy: bool = True

    @property
    def name(self) -> str:
        """The setting as the experiment writes it."""
        consistent = self.composition == "consistent zcdp"
        return f"epsilon={self.epsilon:g};{self.noise};{'zcdp;consistent' if consistent else self.composition}"


CELLS = (
    Cell("GGG", "linear", 0.5),
    Cell("GGG", "linear", 1.0),
    Cell("GGG", "advanced", 0.5),
    Cell("GGG", "zcdp", 0.5),
    Cell("GGG", "consistent zcdp", 0.1),
    Cell("GGG", "moments", 0.1),
    # agree in both implementations: Laplace noise as heavy as that, and light Gaussian noise
    Cell("LLG", "linear", 1.0, heavy=False),
    Cell("LLG", "moments", 0.5, heavy=False),
    Cell("GGG", "moments", 1.0, heavy=False),
    Cell("GGG", "moments", 5.0, heavy=False),
)
#: scale -> folds, seeds of each fold, and settings. Below full scale two folds give a standard error.
SIZES = {
    "full": (folds.FOLDS, REPEATS, CELLS),
    "quick": (2, 1, CELLS),
    "tiny": (2, 1, (CELLS[0], CELLS[-1])),
}


@dataclass(frozen=True)
class Choice:
    """One choice of the algorithm. The defaults are those of the authors' code. An alternative differs in one field."""

    mean_norm: str = "L2"  #: norm of the sensitivity behind the Gaussian noise of a mean; "L1" is sqrt(d) times larger
    mean_factor: float = 1.0  #: times the Gaussian noise of a mean
    weight_factor: str = "root"  #: Gaussian noise of the weights has the sd sqrt(c2) s / eps', or "square": c2 s / eps'
    mean_repair: str = "sphere"  #: a mean longer than 1 is scaled to norm 1; "none"; "coordinates" clipped to [-1, 1]
    weight_repair: str = "cut"  #: negative weights are set to 0; "absolute" values; projected to the "simplex"
    weight_prior: bool = True  #: the noisy weights get the prior's counts once more
    floor: float = 1e-3  #: smallest eigenvalue of a covariance
    symmetry: str = "mirrored"  #: upper triangle mirrored, or a full matrix "averaged" with its transpose
    covariance_factor: float = 1.0  #: times the declared sensitivity of a covariance
    scatter: str = "own mean"  #: the covariance is taken about the component's mean, or about the "noisy mean"
    counts: str = "private"  #: the noise scales use the private counts, or n times the "noisy" weights
    steps: int = CHARGED_STEPS + 1
    start: str = "scaled"  #: starting means divided by the largest norm, or as drawn in the "unit" ball
    with_prior: bool = False  #: the score includes the log prior over the number of test rows, as the authors print it


PROGRAM = Choice()
CHOICES = {
    "as the program": PROGRAM,
    "means: Gaussian noise scaled by the L1 sensitivity": Choice(mean_norm="L1"),
    "means: Gaussian noise larger by a fifth": Choice(mean_factor=1.2),
    # the authors' generator takes sqrt(2) b, the standard deviation of a Laplace variable of scale b
    "means: Laplace's sqrt(2) in the Gaussian noise": Choice(mean_factor=math.sqrt(2)),
    "means: left outside the unit ball": Choice(mean_repair="none"),
    "means: each coordinate cut to [-1, 1]": Choice(mean_repair="coordinates"),
    "weights: variance taken for the standard deviation": Choice(weight_factor="square"),
    "weights: absolute values": Choice(weight_repair="absolute"),
    "weights: projected to the simplex": Choice(weight_repair="simplex"),
    "weights: prior not added again": Choice(weight_prior=False),
    "covariances: eigenvalues at least 1e-4": Choice(floor=1e-4),
    "covariances: eigenvalues at least 1e-2": Choice(floor=1e-2),
    "covariances: noise averaged with its transpose": Choice(symmetry="averaged"),
    "covariances: sensitivity x 2": Choice(covariance_factor=2.0),
    "covariances: about the noisy mean": Choice(scatter="noisy mean"),
    "noise scales from noisy counts": Choice(counts="noisy"),
    "10 M-steps": Choice(steps=CHARGED_STEPS),
    "starting means not rescaled": Choice(start="unit"),
    "log prior in the score": Choice(with_prior=True),
}


# -------------------------------------------------------------------------------------------------------- composition
def budget_of_one(cell: Cell) -> tuple[float, float]:
    """(eps', sqrt(c2)) of each release.

    A Laplace scale is sensitivity / eps', and a Gaussian sd sqrt(c2) times that.
    """
    j, k, epsilon, gaussian_only = CHARGED_STEPS, COMPONENTS, cell.epsilon, cell.noise == "GGG"
    releases = j * (2 * k + 1)
    towards_delta = j * (k + 1) if gaussian_only else j * k  # the authors' count of Gaussian releases
    delta_i = DELTA_OF_ONE
    if cell.composition == "linear":
        delta_i = DELTA / towards_delta
    c2 = 2 * math.log(1.25 / delta_i)
    if cell.composition == "linear":
        return epsilon / releases, math.sqrt(c2)
    if cell.composition == "advanced":
        rest = DELTA - towards_delta * delta_i

        def spent(e: float) -> float:
            return releases * e * (math.exp(e) - 1) + math.sqrt(2 * releases * math.log(1 / rest)) * e

        return brentq(lambda e: spent(e) - epsilon, 0, 1, xtol=1e-13), math.sqrt(c2)
    if cell.composition in ("zcdp", "consistent zcdp"):
        if cell.composition == "consistent zcdp":
            of_one = releases / (2 * c2) if gaussian_only else j * (k + 1) / 2 + j * k / (2 * c2)
        else:  # one Gaussian group counted as pure; LLG: covariances left out
            of_one = j / (2 * c2) + j * k / (2 * c2) + j * k / 2 if gaussian_only else j * (k + 1) / 2

        def cost(e: float) -> float:
            rho = of_one * e * e
            return rho + 2 * math.sqrt(rho * math.log(1 / DELTA))

        return brentq(lambda e: cost(e) - epsilon, 0, 100, xtol=1e-13), math.sqrt(c2)
    # moments accountant: the last of 200 grid points before the first at which no moment from 1 to 100 suffices
    chosen = math.nan
    for e in np.linspace(*GRID):
        slack = []
        for moment in range(1, 101):
            a = (releases if gaussian_only else j * k) * (moment**2 + moment) * e * e / (2 * c2)
            if not gaussian_only:
                up, down = (1 + moment) / (2 * moment + 1), moment / (2 * moment + 1)
                a += j * (k + 1) * (math.log(up + down * math.exp(-(2 * moment + 1) * e)) + moment * e)
            slack.append(a - moment * epsilon)
        if min(slack) >= math.log(DELTA):
            break
        chosen = float(e)
    return chosen, math.sqrt(c2)


# ---------------------------------------------------------------------------------------------------------- one M-step
@dataclass(frozen=True)
class Statistics:
    """Statistics of an M-step before noise, for K components.

    They are weights (K,), means (K, d), covariances (K, d, d), counts (K,), and scatter about 0 for use with a new
    centre.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    counts: np.ndarray


def features(x: np.ndarray) -> np.ndarray:
    """1, x and the upper triangle of x x' of each row. Log-densities and moments are products with these features."""
    a, b = np.triu_indices(x.shape[1])
    return np.column_stack([np.ones(len(x)), x, x[:, a] * x[:, b]])


def e_step(f: np.ndarray, d: int, weights, means, covariances) -> tuple[np.ndarray, float]:
    """Responsibilities (n, K) and log-likelihood (nats) of the rows with features f."""
    a, b = np.triu_indices(d)
    twice = np.where(a == b, 1.0, 2.0)
    theta = np.empty((f.shape[1], len(weights)))
    for k in range(len(weights)):
        precision = np.linalg.inv(covariances[k])
        precision = (precision + precision.T) / 2
        log_det = np.linalg.slogdet(covariances[k])[1]
        pull = precision @ means[k]
        with np.errstate(divide="ignore"):  # a repair may leave a weight of 0
            log_weight = np.log(weights[k])
        theta[0, k] = max(log_weight, -1e300) - 0.5 * (d * math.log(2 * math.pi) + log_det + means[k] @ pull)
        theta[1 : d + 1, k] = pull
        theta[d + 1 :, k] = -0.5 * twice * precision[a, b]
    joint = f @ theta
    top = joint.max(axis=1, keepdims=True)
    shares = np.exp(joint - top)
    total = shares.sum(axis=1, keepdims=True)
    return shares / total, float((top + np.log(total)).sum())


def statistics(f: np.ndarray, d: int, g: np.ndarray, centre: np.ndarray | None = None) -> Statistics:
    """The posterior mode given responsibilities g (n, K). ``centre`` (K, d): of the scatters, else the means."""
    a, b = np.triu_indices(d)
    moments = f.T @ g
    weight, sums = moments[0], moments[1 : d + 1].T
    counts = np.where(weight <= 1, 1.01, weight)
    second = np.zeros((g.shape[1], d, d))
    second[:, a, b] = second[:, b, a] = moments[d + 1 :].T
    own = sums / counts[:, None]
    about = own if centre is None else centre
    cross = np.einsum("ki,kj->kij", about, sums)
    outer = np.einsum("ki,kj->kij", about, about)
    scatter = second - cross - cross.transpose(0, 2, 1) + weight[:, None, None] * outer
    pull = (KAPPA0 * counts / (KAPPA0 + counts))[:, None, None] * np.einsum("ki,kj->kij", own, own)
    covariances = (PRIOR_SCALE * np.eye(d) + scatter + pull) / ((d + 1) + counts + d + 2)[:, None, None]
    pi = counts + CONCENTRATION - 1
    return Statistics(pi / pi.sum(), sums / (counts + KAPPA0)[:, None], covariances, counts)


def noise_scales(cell: Cell, counts: np.ndarray, n: int, d: int, choice: Choice = PROGRAM):
    """Scale of the noise on weights, means (K,), covariances (K,): sd of a Gaussian, b of a Laplace variable."""
    one, root = budget_of_one(cell)
    laplace = cell.noise == "LLG"
    first = (1.0 if laplace else root) / one
    length = math.sqrt(d) if laplace or choice.mean_norm == "L1" else 1.0
    of_weights = 2 / n * first * (root if choice.weight_factor == "square" and not laplace else 1.0)
    of_means = 2 * length / (counts + KAPPA0) * first * (1.0 if laplace else choice.mean_factor)
    return of_weights, of_means, choice.covariance_factor / (counts + (d + 1) + d + 2) * root / one


def repaired_mean(mean: np.ndarray, choice: Choice = PROGRAM) -> np.ndarray:
    """A noisy mean moved back to the ball or cube that contains the rows, or unchanged, by the choice."""
    if choice.mean_repair == "coordinates":
        return np.clip(mean, -1, 1)
    length = np.linalg.norm(mean)
    return mean / length if choice.mean_repair == "sphere" and length > 1 else mean


def repaired_covariance(noisy: np.ndarray, choice: Choice = PROGRAM) -> np.ndarray:
    """A noisy covariance with eigenvalues below the lower limit set to it."""
    values, vectors = np.linalg.eigh(noisy)
    return vectors @ np.diag(np.where(values < choice.floor, choice.floor, values)) @ vectors.T


def repaired_weights(noisy: np.ndarray, n: int, choice: Choice = PROGRAM) -> np.ndarray:
    """Noisy weights moved back to the simplex."""
    if choice.weight_repair == "simplex":
        ordered = np.sort(noisy)[::-1]
        over = (np.cumsum(ordered) - 1) / np.arange(1, len(noisy) + 1)
        w = np.maximum(noisy - over[np.flatnonzero(ordered > over)[-1]], 0)
    else:
        w = np.abs(noisy) if choice.weight_repair == "absolute" else np.clip(noisy, 0, 1)
    w = w / (w.sum() or 1.0)
    if choice.weight_prior or not w.sum() > 0:
        w = n * w + CONCENTRATION - 1
    return w / w.sum()


def log_prior(weights, means, covariances) -> float:
    """Log-density (nats) of the prior: normal-inverse-Wishart, and Dirichlet of the weights up to its constant."""
    d = means.shape[1]
    nu = d + 1
    constant = nu * d / 2 * math.log(PRIOR_SCALE / 2) - float(multigammaln(nu / 2, d))
    log_det = np.linalg.slogdet(covariances)[1]
    precisions = np.linalg.inv(covariances)
    wishart = constant - (nu + d + 1) / 2 * log_det - PRIOR_SCALE / 2 * np.trace(precisions, axis1=1, axis2=2)
    square = np.einsum("ki,kij,kj->k", means, precisions, means)
    normal = d / 2 * math.log(KAPPA0 / (2 * math.pi)) - log_det / 2 - KAPPA0 / 2 * square
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((wishart + normal).sum() + (CONCENTRATION - 1) * np.log(weights).sum())


# ------------------------------------------------------------------------------------------------------------- one run
def start(d: int, rng: np.random.Generator, scale: float) -> np.ndarray:
    """Starting means (K, d): a Latin hypercube in [-1/2, 1/2]^d with noise of sd .01, times ``scale``."""
    cube = np.empty((COMPONENTS, d))
    for column in range(d):
        cube[:, column] = (rng.permutation(COMPONENTS) + rng.random(COMPONENTS)) / COMPONENTS - 0.5
    return scale * (cube + 0.01 * rng.standard_normal((COMPONENTS, d)))


def run(f: np.ndarray, d: int, norm: float, cell: Cell, choice: Choice, rng: np.random.Generator):
    """Weights, means and covariances of one fit to rows with features ``f``, which were divided by ``norm``."""
    n, k = len(f), COMPONENTS
    draw = rng.laplace if cell.noise == "LLG" else rng.normal
    current = (
        np.full(k, 1 / k),
        start(d, rng, 1.0 if choice.start == "unit" else 1 / norm),
        np.repeat(np.eye(d)[None], k, axis=0),
    )
    last = None
    for _ in range(choice.steps):
        g, objective = e_step(f, d, *current)
        objective += log_prior(*current)
        clean = statistics(f, d, g)
        # every choice draws the same numbers in the same order
        unit_means, unit_weights = draw(size=(k, d)), draw(size=k)
        unit_covariances = rng.normal(size=(k, d, d))
        of_weights = noise_scales(cell, clean.counts, n, d, choice)[0]
        weights = repaired_weights(clean.weights + of_weights * unit_weights, n, choice)
        counts = np.maximum(n * weights, 1.01) if choice.counts == "noisy" else clean.counts
        _, of_means, of_covariances = noise_scales(cell, counts, n, d, choice)
        means = clean.means + of_means[:, None] * unit_means
        means = np.stack([repaired_mean(m, choice) for m in means])
        source = statistics(f, d, g, means) if choice.scatter == "noisy mean" else clean
        covariances = np.empty((k, d, d))
        for c in range(k):
            z = unit_covariances[c]
            z = np.triu(z) + np.triu(z, 1).T if choice.symmetry == "mirrored" else (z + z.T) / 2
            covariances[c] = repaired_covariance(source.covariances[c] + of_covariances[c] * z, choice)
        current = weights, means, covariances
        if last is not None and abs(objective - last) < TOLERANCE * (abs(objective) + abs(last)) / 2:
            break
        last = objective if math.isfinite(objective) else None  # a weight of 0 has no log prior
    return current


def score(test: np.ndarray, d: int, norm: float, parameters, choice: Choice) -> float:
    """Mean log-likelihood per test row in the units of the data, nats."""
    value = e_step(test, d, *parameters)[1]
    if choice.with_prior:
        value += log_prior(*parameters)
    return value / len(test) - d * math.log(norm)


def scores_of(x: np.ndarray, fold: int, cells=CELLS, choices=CHOICES, repeats: int = REPEATS) -> Scores:
    """Scores of one fold, by setting's name and choice, with one number per repeat. x (n, d) is in original units."""
    d = x.shape[1]
    train, test = folds.split("life_science", "folds", len(x), fold)
    norm = float(np.linalg.norm(x[train], axis=1).max())
    f, held_out = features(x[train] / norm), features(x[test] / norm)
    found: Scores = {(cell.name, choice): [] for cell in cells for choice in choices}
    for cell in cells:
        for repeat in range(repeats):
            fits = {}
            for name, choice in choices.items():
                key = replace(choice, with_prior=False)
                if key not in fits:
                    fits[key] = run(f, d, norm, cell, choice, np.random.default_rng([fold, repeat]))
                found[cell.name, name].append(score(held_out, d, norm, fits[key], choice))
    return found


def joined(parts: list[Scores]) -> Scores:
    """Scores of several folds, one after the other."""
    return {key: [v for part in parts for v in part[key]] for key in parts[0]}


def rows(found: Scores, cells=CELLS) -> list[dict]:
    """One row per setting and choice. The standard errors are over the runs."""
    out = []
    for cell in cells:
        base = np.array(found[cell.name, "as the program"])
        for (name, choice), values in found.items():
            if name != cell.name:
                continue
            values = np.array(values)
            shift = values - base
            root = math.sqrt(len(values))
            out.append(
                {"cell": name, "heavy": "yes" if cell.heavy else "no", "choice": choice, "runs": len(values)}
                | {"mean": float(values.mean()), "standard_error": float(values.std(ddof=1) / root)}
                | {"shift": float(shift.mean()), "shift_standard_error": float(shift.std(ddof=1) / root)}
            )
    return out


def tables(request: Request) -> dict[str, str]:
    """``dpem_choices.csv``, as text."""
    data, (count, repeats, cells) = request.data(), SIZES[request.scale]
    found = joined([scores_of(data.x, fold, cells, repeats=repeats) for fold in range(count)]) if data.ok else {}
    return {"dpem_choices.csv": text_of(COLUMNS, rows(found, cells) if found else [], 6)}
