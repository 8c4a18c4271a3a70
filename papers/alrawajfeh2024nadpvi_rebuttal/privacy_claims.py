"""The privacy claims of the rebuttal on NA-DPVI at delta = 1e-5."""

from __future__ import annotations

from reports.privacy_claims import PrivacyClaim, of_experiment

SOURCE = "alrawajfeh2024nadpvi_rebuttal"
EXPERIMENTS = ("nadpvi_exponential", "nadpvi_linear", "nadpvi_adult")
#: published method -> ours.
METHODS = {
    "na_dpvi_nuts": "na_dpvi_nuts",
    "na_dpvi_laplace": "na_dpvi_laplace",
    "dpvi_last_iterate": "dpvi_last_iterate",
    "dpvim": "dpvim",
}
#: our method for the authors' code of Bernstein & Sheldon -> experiment and proof. The code of 2019 gives its sampler
#: exact moments of the private rows, and releases draws only. No proof is known for the draws.
AUTHORS = {
    "bernstein_sheldon_2018_authors": (
        "nadpvi_exponential",
        "one number of noise is added to all counts, so their differences are released exactly",
    ),
    "bernstein_sheldon_2019_authors": ("nadpvi_linear", ""),
}


def claims() -> list[PrivacyClaim]:
    """The claims by the algorithms as printed, and those of the authors' code of Bernstein & Sheldon."""
    found = []
    for experiment in EXPERIMENTS:
        for method, ours in METHODS.items():
            found += of_experiment(
                experiment, ours, source=SOURCE, method=method, reading="printed", released="all noisy gradients"
            )
    for ours, (experiment, proof) in AUTHORS.items():
        rows = of_experiment(
            experiment, ours, source=SOURCE, method=ours.removesuffix("_authors"), reading="authors",
            released="noisy statistics" if proof else "posterior draws", proof=proof,
        )  # fmt: skip
        found += [row for row in rows if row.upper == float("inf")]
    return found
