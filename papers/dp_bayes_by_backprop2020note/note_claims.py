"""Claims of the note on DP Bayes by backprop (May 2020), compared with computations: three tables, no data set.

    python -m workflow.extra dp_bayes_by_backprop2020note bbb_accounting.csv

``bbb_accounting.csv`` has three guarantees of one noise level, at the delta of the config:

* DP-SGD's, with Poisson batches and add/remove, which the note claims.
* That of fixed batches by composition over epochs, for a row that is replaced. The clipped sum moves by 2 C. This is
  the guarantee that holds.
* The same for a row that is zeroed out. The clipped sum moves by C. This is the most favourable interpretation.

``case`` is the noise of the experiment's epsilons, or a published setting of DP-SGD.

``bbb_rho_gradient.csv`` has the mean of the note's and of the corrected gradient in mu and rho, compared with the exact
one. The loss is (w - 1)^2 / 2 minus the entropy of q, with mu = 0 and no noise. The gradient in rho is in units of
s'(rho) / s(rho), in which the entropy's part is -1.

``bbb_claims.csv`` has the sentences of the note that these numbers, or replays on neighbours, decide.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm as normal

from methods import contract
from models.bnn_classification import BNNClassification, GaussianPrior
from models.task import PublicKnowledge, Task
from privacy import audit
from privacy.accountants import epsilon_of, gdp_delta, gdp_epsilon
from privacy.budget import BudgetSpec
from privacy.calibration import noise_multiplier
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling
from workflow.experiments import cells
from workflow.extra import Request

ROWS = 60_000
#: published settings of DP-SGD on MNIST as (lot, sigma, epochs): two of Opacus, and the third of Abadi et al. 2016.
PUBLISHED = ((256, 1.3, 15), (256, 1.1, 60), (600, 4.0, 100))
RHOS = (-5.0, -3.0, -1.0, 1.0)
#: coordinates and draws, at which the standard error of Delta_mu is 0.017 at rho = -5, small compared with the margin
COORDINATES, DRAWS = 200_000, 400
#: largest distance of an update's mean from the gradient, in the units of ``updates``: 10 % of the gradient in mu, or
#: of the entropy's term in rho.
UNBIASED = 0.1
#: epochs, rows per batch, C and seeds of the replays. C is below the norms of the rows' gradients, so they are clipped.
EPOCHS, LOT, CLIP, SEEDS = 3, 3, 0.1, 20
#: epsilons at which the Gaussian mechanism's textbook sigma is checked.
EPSILONS = tuple(0.1 * k for k in range(1, 201))
NOTE, CORRECTED = "dp_bayes_by_backprop", "dp_bayes_by_backprop_corrected"

Row = dict[str, str]


def guarantees(lot: int, sigma: float, epochs: int, delta: float) -> dict[str, float]:
    """Epsilons of clipped sums with noise sigma C, for Poisson batches and for composition over epochs."""
    steps = round(epochs * ROWS / lot)
    poisson = Event(
        *("clipped sum", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, sigma, Sampling.POISSON, lot / ROWS, steps)
    )
    return {
        "lot": lot,
        "noise_multiplier": sigma,
        "epochs": epochs,
        "epsilon_dp_sgd": epsilon_of(Ledger([poisson]), delta).epsilon,
        "epsilon_epochs_replace": gdp_epsilon(2.0 * math.sqrt(epochs) / sigma, delta),
        "epsilon_epochs_zero_out": gdp_epsilon(math.sqrt(epochs) / sigma, delta),
    }


def accounting(config: str) -> tuple[pd.DataFrame, float]:
    """The first table and its delta: noise of the experiment's epsilons at full scale, then published settings."""
    rows, delta = [], math.nan
    for cell in cells(config, "full"):
        budget, s = dict(cell.budget), dict(cell.settings)
        if cell.method == CORRECTED and cell.family:
            delta = budget["delta"]
            steps = round(s["epochs"] * ROWS / s["batch_size"])
            sigma = noise_multiplier(budget["epsilon"], delta, s["batch_size"] / ROWS, steps)
            rows.append(
                {"case": f"epsilon={budget['epsilon']:g}", **guarantees(s["batch_size"], sigma, s["epochs"], delta)}
            )
    rows += [{"case": "published", **guarantees(*setting, delta)} for setting in PUBLISHED]
    return pd.DataFrame(rows), delta


def rho_gradient(seed: int = 0, repeats: int = DRAWS) -> pd.DataFrame:
    """The second table, from ``repeats`` draws of all coordinates.

    The exact gradients are -1 in mu and s^2 - 1 in rho. The prior has standard deviation 1e6, so its effect is
    negligible.
    """
    import torch

    from methods._shared.bayes_by_backprop import variational

    rows, prior = [], GaussianPrior(1e6)
    for k, rho in enumerate(RHOS):
        rng = np.random.default_rng([seed, k])
        q = variational.MeanField(torch.zeros(COORDINATES, dtype=torch.float64), rho)
        normals = variational.Normals(COORDINATES, rng)
        s = math.log1p(math.exp(rho))
        unit = 1.0 / (1.0 + math.exp(-rho)) / s
        for method, gradients in ((NOTE, q.printed_gradients), (CORRECTED, q.gradients)):
            moments = []  # per draw: mean in mu and rho, mean square in both
            for _ in range(repeats):
                mu, slope = gradients(q.draw(normals) - 1.0, 1.0, prior)
                both = np.stack([mu.numpy(), slope.numpy() / unit])
                moments.append([*both.mean(axis=1), *np.square(both).mean(axis=1)])
            first, second = np.mean(moments, axis=0).reshape(2, 2)
            draws = COORDINATES * repeats
            found = {"rho": rho, "s": s, "method": method, "draws": draws}
            for k, (name, exact) in enumerate((("mu", -1.0), ("rho", s**2 - 1.0))):
                sd = math.sqrt(second[k] - first[k] ** 2)
                found |= {f"exact_{name}": exact, f"mean_{name}": first[k], f"sd_{name}": sd}
                found[f"error_{name}"] = sd / math.sqrt(draws)
            rows.append(found)
    return pd.DataFrame(rows)


def tiny_task() -> Task:
    """A task with twelve rows and three classes, which is enough for replays."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (12, 2))
    public = PublicKnowledge(12, ((-2.0, 2.0),) * 2, (0.0, 2.0), "the law that draws these rows")
    return Task("tiny", BNNClassification(5, 1, 3, 1.0), x, np.digitize(x[:, 0], (-0.7, 0.7)).astype(float), public)


def replays(name: str, relation: Relation) -> list[audit.Replay]:
    """Replays of the method on every extreme pair of neighbours: 12 rows, and fewer."""
    method = contract.get(name)
    settings = method.Settings(epochs=EPOCHS, batch_size=LOT, clip=CLIP)
    spec = BudgetSpec(noise_multiplier=1.0)
    pairs = list(audit.neighbours(tiny_task(), relation))
    return [audit.replay(method, d, other, settings, spec, k) for k in range(SEEDS) for _, d, other in pairs]


def claims(table: pd.DataFrame, delta: float, gradients: pd.DataFrame) -> list[Row]:
    """The outcome of each sentence. ``table``, ``gradients``: the other two tables."""
    note = replays(NOTE, Relation.REPLACE_ONE)
    poisson = replays(CORRECTED, Relation.ADD_REMOVE)
    return [
        post_processing([*note, *poisson]),
        *sensitivity(note, poisson),
        *classical_sigma(table, delta),
        epochs_only(note, poisson),
        advanced_composition(table, delta),
        same_bound(table),
        *updates(gradients),
    ]


def post_processing(found: list[audit.Replay]) -> Row:
    """Whether mu and rho are independent of the rows given equal releases."""
    change = max(r.posterior_change for r in found)
    figure = f"{len(found)} pairs of neighbours with the same releases: mu and rho differ by {change:g} at most"
    return _row("post_processing", change == 0.0, figure)


def sensitivity(replaced: list[audit.Replay], removed: list[audit.Replay]) -> list[Row]:
    """Whether one row changes the clipped sum by at most C.

    Printed: section 1 bounds the change by two rows' gradients, but algorithm 1 sets the noise for one. Corrected: a
    row is added or removed.
    """
    out = []
    for reading, words, found in (("printed", "replaced", replaced), ("corrected", "added or removed", removed)):
        top = max(g.measured for r in found for g in r.gaps) / CLIP
        figure = f"a row {words}: the clipped sum moves by up to {top:.4g} C on {len(found)} pairs"
        out.append(_row("sensitivity", top <= 1.0 + audit.ROUNDING, figure, reading))
    return out


def classical_sigma(table: pd.DataFrame, delta: float) -> list[Row]:
    """Whether sigma = sqrt(2 ln(1.25 / delta)) / epsilon gives the claimed delta, by the exact delta of one release.

    Printed: at every epsilon, as the note names none. Corrected: at the epsilons of the experiment.
    """

    def exact(epsilon: float) -> float:
        return gdp_delta(epsilon / math.sqrt(2 * math.log(1.25 / delta)), epsilon)

    beyond = next((e for e in EPSILONS if exact(e) > delta), None)
    figure = f"exact delta of one release at most {delta:g} up to epsilon = {EPSILONS[-1]:g}"
    if beyond is not None:
        below = EPSILONS[max(EPSILONS.index(beyond) - 1, 0)]
        last = brentq(lambda e: exact(e) - delta, below, beyond) if exact(below) <= delta else 0.0
        figure = (
            f"exact delta of one release at most {delta:g} up to epsilon = {last:.1f} only; "
            f"{exact(EPSILONS[-1]):.2g} at epsilon = {EPSILONS[-1]:g}"
        )
    mine = [float(c.partition("=")[2]) for c in table["case"] if c.startswith("epsilon=")]
    words = ", ".join(f"{exact(e):.2g} at {e:g}" for e in mine)
    return [
        _row("classical_sigma", beyond is None, figure),
        _row("classical_sigma", all(exact(e) <= delta for e in mine),
             f"exact delta of one release of sensitivity C, asked for {delta:g}: {words}", "corrected"),
    ]  # fmt: skip


def epochs_only(fixed: list[audit.Replay], poisson: list[audit.Replay]) -> Row:
    """Whether a replaced row changes at most one release per epoch, unlike Poisson batches, given equal releases."""
    most, loose = (max((r.gaps[0] for r in found), key=lambda g: g.moved) for found in (fixed, poisson))
    figure = (
        f"{EPOCHS} epochs, fixed batches, a row replaced: at most {most.moved} of {most.releases} releases change; "
        f"with Poisson batches up to {loose.moved} of {loose.releases} do"
    )
    return _row("epochs_only", most.moved <= EPOCHS, figure)


def advanced_composition(table: pd.DataFrame, delta: float) -> Row:
    """Whether T epochs of (epsilon, delta) each are (sqrt(T) epsilon sqrt(1 / delta), T delta), with constant 1."""
    held, words = [], []
    for row in table[table["case"].str.startswith("epsilon=")].to_dict("records"):
        epsilon = gdp_epsilon(2.0 / row["noise_multiplier"], delta)
        total = gdp_epsilon(2.0 * math.sqrt(row["epochs"]) / row["noise_multiplier"], row["epochs"] * delta)
        bound = math.sqrt(row["epochs"]) * epsilon * math.sqrt(1 / delta)
        held.append(total <= bound)
        words.append(f"{total:.3g} against {bound:.3g}")
    return _row("advanced_composition", all(held), f"exact epsilon at T delta against the bound: {', '.join(words)}")


def same_bound(table: pd.DataFrame) -> Row:
    """Whether the note's scheme costs at most 5 % more than DP-SGD at every noise of the table.

    5 % is the difference between two accountants.
    """
    ratios = table["epsilon_epochs_replace"] / table["epsilon_dp_sgd"]
    kind = table["epsilon_epochs_zero_out"] / table["epsilon_dp_sgd"]
    mine = table[table["case"].str.startswith("epsilon=")]
    pairs = ", ".join(
        f"{b:.3g} for {a:.3g}" for a, b in mine[["epsilon_dp_sgd", "epsilon_epochs_replace"]].itertuples(index=False)
    )
    figure = (
        f"epsilon of the note's scheme for that of DP-SGD at the same noise: {pairs}; {ratios.min():.3g} to "
        f"{ratios.max():.3g} times in {len(table)} cases, and for a row that is replaced by nothing {kind.min():.3g} "
        f"to {kind.max():.3g} times"
    )
    return _row("same_bound", bool((ratios <= 1.05).all()), figure)


def updates(gradients: pd.DataFrame) -> list[Row]:
    """Whether the mean of the update is the gradient of the objective, within the margin ``UNBIASED``.

    The answer is "yes" if every 95 % interval lies within the margin. It is "no" if one interval of level 1 - 5 % / 4
    lies outside of it (there are four rho). Otherwise it is "unclear".
    """
    out = []
    for name, unit in (("rho", "in units of s' / s"), ("mu", "for an exact -1")):
        for reading, method in (("printed", NOTE), ("corrected", CORRECTED)):
            here = gradients[gradients["method"] == method]
            off = here[f"mean_{name}"] - here[f"exact_{name}"]
            shown = off.abs() + normal.isf(0.025) * here[f"error_{name}"] < UNBIASED
            against = off.abs() - normal.isf(0.025 / len(here)) * here[f"error_{name}"] > UNBIASED
            holds = "yes" if shown.all() else "no" if against.any() else "unclear"
            told = [f"{o:.2g} +- {e:.1g}" for o, e in zip(off, here[f"error_{name}"], strict=True)]
            figure = (
                f"mean of the update less the gradient, {unit}, at rho = {_list(here['rho'])}: {', '.join(told)}, "
                f"margin {UNBIASED:g}"
            )
            if name == "mu":
                figure += f"; standard deviation of the update {_list(here['sd_mu'])}"
            out.append(_row(f"{name}_update", False, figure, reading) | {"holds": holds})
    return out


def _list(values) -> str:
    return ", ".join(f"{v:.3g}" for v in values)


def _row(claim: str, holds: bool, figure: str, reading: str = "printed") -> Row:
    return {"claim": claim, "reading": reading, "holds": "yes" if holds else "no", "figure": figure}


def tables(request: Request) -> dict[str, str]:
    """``bbb_accounting.csv``, ``bbb_rho_gradient.csv`` and ``bbb_claims.csv``. With ``from_tables``, only the last."""
    table, delta = accounting(request.config)
    made: dict[str, pd.DataFrame] = {}
    if request.from_tables:
        table, gradients = (pd.read_csv(request.out / f"bbb_{n}.csv") for n in ("accounting", "rho_gradient"))
    else:
        gradients = rho_gradient()
        made = {"accounting": table, "rho_gradient": gradients}
    made["claims"] = pd.DataFrame(claims(table, delta, gradients))
    form = {"index": False, "lineterminator": "\n", "float_format": "%.10g"}
    return {f"bbb_{name}.csv": frame.to_csv(**form) for name, frame in made.items()}
