"""Chen, Sanghi & Awan (2025), Particle filter for Bayesian inference on privatized data (arXiv 2505.00877): samplers of
the posterior given a noisy release.

The text of the paper was not at hand. Algorithms, settings, single runs and releases are those of the authors' code
(psanghi04/DP-PF, MIT). The exact posterior of each regression release is the reference beside its numbers.
"""

from workflow.papers import Paper, Program

PAPER = Paper(
    key="chen2025dppf",
    title="Chen, Sanghi & Awan 2025 (DP-PF)",
    sources={"chen2025dppf": "Chen, Sanghi & Awan 2025 (DP-PF)"},
    family=2018,
    program=Program.of(
        __name__,
        scores=(
            *("pf_conj_01", "pf_conj_05", "pf_conj_10", "pf_conj_20"),
            *("pf_nonconj_01", "pf_nonconj_05", "pf_nonconj_10", "pf_nonconj_20"),
            *("pf_fixed_conj_01", "pf_fixed_conj_05", "pf_fixed_conj_10"),
            *("pf_fixed_nonconj_01", "pf_fixed_nonconj_05", "pf_fixed_nonconj_10"),
            *("tab_nonconj_01", "tab_nonconj_05", "tab_nonconj_10", "tab_nonconj_20"),
            *("pf_ls_01", "pf_ls_05", "pf_ls_10", "pf_ls_20"),
            "rejection_lr_01",
            *("rejection_ls_01", "rejection_ls_05", "rejection_ls_10", "rejection_ls_20"),
            *("mcmc_conj_01", "mcmc_conj_05", "mcmc_conj_10", "mcmc_conj_20"),
            *("mcmc_nonconj_01", "mcmc_nonconj_05", "mcmc_nonconj_10", "mcmc_nonconj_20"),
        ),
        checks=("posteriors", "location_scale", "faults"),
        samples={
            "*-pf_conj-*;n=100;*": 2.0,
            "*-pf_ls-*epsilon=0.1;n=100;*": 1.0,
            "*-rejection_ls-*epsilon=0.1;n=100;*": 1.5,
            "*-mcmc_conj-*epsilon=2;n=100;*": 2.0,
        },
        measures={"{metric}": "mean", "sd of {metric}": "std", "epsilon": "ledger_epsilon"},
        judged="The numbers are of single runs of samplers on one release. Filters are judged by two samples of single "
        "runs, posterior means of DP-DA-MCMC run by run by the exact posterior of the run's own release. Accepted "
        "draws of rejection sampling have the distribution of the exact posterior, so ours are drawn from it, and no "
        "draw was rejected here",
        finding="chen2025dppf-second-noise",
    ),
)
