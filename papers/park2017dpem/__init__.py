"""Park, Foulds, Chaudhuri & Welling (2017), DP-EM: differentially private expectation maximization."""

from workflow.papers import Extra, Paper

HERE = "papers.park2017dpem"

PAPER = Paper(
    key="park2017dpem",
    title="DP-EM",
    sources={"park2017dpem": "Park, Foulds, Chaudhuri & Welling 2017"},
    family=290,
    aliases=("mixture_of_gaussians",),
    figures=f"{HERE}.figures:build",
    extra=(
        # declared against measured sensitivities on pairs of neighbours, and the epsilon of its noise
        Extra(("dpem_sensitivity.csv", "dpem_epsilon.csv"), f"{HERE}.sensitivity:tables", datasets=("life_science",)),
        # a second derivation, and what each choice of a port would cost
        Extra(
            ("dpem_choices.csv",), f"{HERE}.choices:tables", experiment="dpem_life_science", datasets=("life_science",)
        ),
        # EM without noise, step by step, and where the authors' tolerance stops it
        Extra(("em_steps.csv",), f"{HERE}.em_steps:tables", experiment="dpem_life_science", datasets=("life_science",)),
    ),
)
