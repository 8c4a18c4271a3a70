"""Every method on the same real data at the same budget, laid out like a paper without published numbers."""

from workflow.papers import Extra, Paper

PAPER = Paper(
    key="common_tasks",
    title="the common tasks",
    tables="common_tasks.report:tables",
    page="common_tasks.report:page",
    derived="common_tasks.report:derived",
    extra=(
        # coverage of the exact posterior of linear regression, and of one too narrow or too wide
        Extra(("common_controls.csv",), "common_tasks.controls:tables"),
        # noise-aware methods compared with the exact posterior of their release
        Extra(
            ("common_noise_aware.csv",),
            "common_tasks.noise_aware:tables",
            reads=(
                "methods.sufficient_statistics.bernstein_sheldon_2018",
                "methods.sufficient_statistics.bernstein_sheldon_2018_authors",
                "methods.sufficient_statistics.bernstein_sheldon_2019_authors",
                "methods.sufficient_statistics.bernstein_sheldon_2019_corrected",
                "methods.dpvi.na_dpvi",
            ),
        ),
        # class probabilities of logistic regression, from stored posteriors
        Extra(
            ("common_reliability.csv",),
            "common_tasks.reliability:tables",
            experiment="common_logistic_regression",
            datasets=None,
            fits=("*",),
            reads=("models.posteriors",),
        ),
        # draws of the logistic posteriors, at these budgets, against independent references
        *(
            Extra(
                (f"sampler_common_{d}.csv",),
                "common_tasks.sampler_distance:table",
                experiment="common_logistic_regression",
                datasets=(d,),
            )
            for d in ("abalone", "adult")
        ),
    ),
)
