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
        # declared and measured sensitivities on pairs of neighbours, and the epsilon of the noise
        Extra(("dpem_sensitivity.csv", "dpem_epsilon.csv"), f"{HERE}.sensitivity:tables", datasets=("life_science",)),
        # a second implementation, and the effect of each choice in which another could differ
        Extra(
            ("dpem_choices.csv",), f"{HERE}.choices:tables", experiment="dpem_life_science", datasets=("life_science",)
        ),
        # what the final parameters show of the largest norm of a private row
        Extra(("dpem_atoms.csv",), f"{HERE}.atoms:tables", experiment="dpem_life_science"),
        # EM without noise, step by step, and the step at which the authors' tolerance stops it
        Extra(("em_steps.csv",), f"{HERE}.em_steps:tables", experiment="dpem_life_science", datasets=("life_science",)),
    ),
)
