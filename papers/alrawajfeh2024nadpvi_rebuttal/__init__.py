"""Al-Rawajfeh, Jälkö & Honkela (2024), Noise-aware differentially private variational inference, with its rebuttal."""

from workflow.papers import Extra, Paper

HERE = "papers.alrawajfeh2024nadpvi_rebuttal"
SETS = ("gamma_exponential", "beta_bernoulli", "dirichlet_categorical", "linear_regression_10d")


def _checks(table: str, dataset: str, *fits: str) -> Extra:
    """Coverage of stored posteriors of one simulated distribution under other priors, widths or reference points."""
    experiment = "nadpvi_linear" if dataset == "linear_regression_10d" else "nadpvi_exponential"
    name = f"na_dpvi_{table}_{dataset}.csv"
    read = ("models.posteriors", "evaluation.scorers", "workflow.draws", "models.noise_aware")
    return Extra((name,), f"{HERE}.checks:{table}_table", experiment, (dataset,), fits, read)


METHODS = {
    "na_dpvi_nuts": "NA-DPVI (NUTS)",
    "na_dpvi_laplace": "NA-DPVI (Laplace)",
    "dpvi_last_iterate": "Naive (last iterate)",
    "dpvim": "DPVIm",
    "bernstein_sheldon_2018": "Bernstein & Sheldon (2018)",
    "bernstein_sheldon_2019": "Bernstein & Sheldon (2019)",
}

PAPER = Paper(
    key="alrawajfeh2024nadpvi_rebuttal",
    title="Noise-aware DPVI",
    sources={"alrawajfeh2024nadpvi_rebuttal": "Alrawajfeh, Jälkö & Honkela 2025 (rebuttal)"},
    family=290,
    methods=METHODS,
    private=tuple(METHODS),
    aliases=("na_dpvi",),
    tables=f"{HERE}.tables:build",
    figures=f"{HERE}.figures:build",
    extra=(
        *(_checks("priors", d, "na_dpvi") for d in SETS),
        *(_checks("controls", d, "exact_posterior") for d in SETS),
        _checks(
            "references", "linear_regression_10d", "bernstein_sheldon_2019_authors", "bernstein_sheldon_2019_corrected"
        ),
    ),
)
