"""Honkela, Das, Nieminen, Dikmen & Kaski (2018): robust private linear regression.

The paper is "Efficient differentially private learning improves drug sensitivity prediction" (Biology Direct 13:1). The
half on simulated rows is rerun. Its folds, noise and optimiser follow from seeds. The rows of the other half (GDSC) are
not available. Algorithm and settings are those of the authors' code (DPBayes/robust-private-lr, MIT).
"""

from workflow.papers import Paper, Program

PAPER = Paper(
    key="honkela2018robust",
    title="Honkela et al. 2018 (Biology Direct)",
    sources={"honkela2018robust": "Honkela et al. 2018 (Biology Direct)"},
    family=249,
    program=Program(
        __name__,
        scores=("synth_A", "synth_B", "multiples", "splits"),
        checks=("updates", "posteriors", "answers", "costs", "charged", "outlier"),
        # one fit of each kind, one split of the budget, and the multiples with the fewest rows
        samples={
            "*-synth_A-honkela_synth-*-epsilon=1;n=500": 4.0,
            "*-splits-*;p1=0.35;p2=0.60": 1.0,
            "*-multiples_B-*-epsilon=2;n=100": 2.0,
        },
        measures={"{metric}": "mean", "sd of {metric}": "std", "epsilon": "ledger_epsilon"},
        judged="The numbers are means over 50 folds or 25 simulated fits. Their randomness is known up to three "
        "streams per fit, so they are judged by the distribution of these streams",
    ),
)
