"""Jälkö, Dikmen & Honkela (2017), Differentially private variational inference for non-conjugate models (UAI)."""

from workflow.papers import Paper, Program

PAPER = Paper(
    key="jalko2017dpvi",
    title="Jälkö et al. 2017 (UAI)",
    sources={"jalko2017dpvi": "Jälkö et al. 2017 (UAI)"},
    family=87,
    program=Program(
        __name__,
        scores=("abalone_acc_vs_c", "adult_acc_vs_c", "adult_acc_vs_q", "sgld_vs_advi_abalone", "non_dp"),
        checks=("delta", "epsilons", "rules", "direction", "sgld", "coding", "sequences"),
        # the published number with the fewest steps, per method and reading
        samples={
            "*-sgld_vs_advi_abalone-abalone_coded-dpvi-*-delta=1e-3;clip=5;sigma=1.221403;*;T=1000": 1.7,
            "*-non_dp-abalone_coded-vi-authors-kappa=0.01;T=20000": 8.0,
        },
        measures={
            "accuracy": "1 - mean",  # a score row has the error
            "sd of accuracy": "std",
            "epsilon": "ledger_epsilon",
            "epsilon at the small delta": "ledger_epsilon_small",
            "log_likelihood": "log_likelihood",
            "length of the mean": "length",
            "mean posterior sd": "sd",
        },
        judged="The numbers are means over runs on one split, and are judged by the rule of the suite",
    ),
)
