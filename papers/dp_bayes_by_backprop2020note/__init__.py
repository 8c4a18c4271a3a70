"""The note on DP Bayes by backprop (May 2020), on MNIST."""

from workflow.papers import Extra, Paper

HERE = "papers.dp_bayes_by_backprop2020note"

PAPER = Paper(
    key="dp_bayes_by_backprop2020note",
    title="DP Bayes by backprop",
    sources={"dp_bayes_by_backprop2020note": "Note on DP Bayes by backprop (May 2020)"},
    family=290,
    aliases=("bbb_mnist",),
    tables=f"{HERE}.tables:build",
    figures=f"{HERE}.figures:build",
    extra=(
        # guarantees of one noise level, and means of the updates
        Extra(
            ("bbb_accounting.csv", "bbb_rho_gradient.csv", "bbb_claims.csv"),
            f"{HERE}.note_claims:tables",
            experiment="bbb_mnist",
            reads=(
                "methods.bayes_by_backprop.dp_bayes_by_backprop_corrected",
                "methods.bayes_by_backprop.dp_bayes_by_backprop",
            ),
        ),
        # learning curves and reliability bins of the classifiers, from their stored posteriors
        Extra(
            ("bbb_learning_curves.csv", "bbb_reliability.csv"),
            f"{HERE}.classifier_curves:tables",
            experiment="bbb_mnist",
            datasets=None,
            fits=("*",),
            reads=("models.posteriors", "models.bnn_classification"),
        ),
    ),
)
