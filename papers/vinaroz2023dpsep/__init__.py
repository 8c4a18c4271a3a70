"""Vinaroz & Park (2023), Differentially private stochastic expectation propagation (TMLR), and its version of 2021."""

from workflow.papers import Extra, Paper

HERE = "papers.vinaroz2023dpsep"

PAPER = Paper(
    key="vinaroz2023dpsep",
    title="DP-SEP, 2023 and 2021",
    sources={
        "vinaroz2023dpsep": "Vinaroz & Park 2023 (TMLR)",
        "vinaroz2021dpsep": "Vinaroz & Park 2021 (first version)",
    },
    family=290,
    methods={
        **{"vi": "VI", "ep": "EP", "sep": "SEP", "clipped_sep": "SEP clipped", "dp_sep": "DP-SEP", "dp_vi": "DP-VI"},
        **{"dp_em": "DP-EM", "point_estimate": "Point estimate"},
    },
    private=("dp_sep", "dp_vi", "dp_em"),
    aliases=("bnn_regression", "mixture_of_gaussians"),
    figures=f"{HERE}.figures:build",
    extra=(
        # theorem 4.1: Monte Carlo beside the printed bounds and the corrected one
        Extra(
            ("kl_bound.csv", "kl_bound_slopes.csv", "kl_bound_steps.csv", "kl_bound_claims.csv"),
            f"{HERE}.kl_claims:tables",
        ),
        # lower bounds on what the final parameters show
        Extra(("final_state.csv",), f"{HERE}.final_state:tables", experiment="dpsep_mixture"),
    ),
)
