"""Geumlek, Song & Chaudhuri (2017), Renyi differential privacy mechanisms for posterior sampling."""

from workflow.papers import Extra, Paper

HERE = "papers.geumlek2017rdp"

PAPER = Paper(
    key="geumlek2017rdp",
    title="Posterior sampling under Renyi privacy",
    sources={"geumlek2017rdp": "Geumlek, Song & Chaudhuri 2017"},
    family=290,
    aliases=("rdp_posterior_sampling",),
    tables=f"{HERE}.tables:build",
    figures=f"{HERE}.figures:build",
    extra=(
        # figures 1 and 2 and the appendix, in exponential families
        Extra(
            (
                *("rdp_figure1.csv", "rdp_figure2_kl.csv", "rdp_figure2_heldout.csv"),
                *("rdp_suprema.csv", "rdp_claims.csv"),
            ),
            f"{HERE}.exponential_family:tables",
            experiment="rdp_exponential_family",
        ),
        # the sampler of logistic posteriors compared with long chains of another one, on 12 posteriors of a data set
        *(
            Extra((f"rdp_sampler_{d}.csv",), f"{HERE}.sampler_check:chains", experiment="rdp_logistic", datasets=(d,))
            for d in ("abalone", "adult", "mnist")
        ),
        # and compared with quadrature, if one side of the posterior falls abruptly
        Extra(("sampler_separable.csv",), f"{HERE}.separable:table"),
    ),
)
