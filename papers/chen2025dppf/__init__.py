"""Chen, Sanghi & Awan (2025), Particle filter for Bayesian inference on privatized data (arXiv 2505.00877).

The methods sample the posterior given a noisy release. The text of the paper was not available. Algorithms, settings,
single runs and releases are those of the authors' code (psanghi04/DP-PF, MIT). The exact posterior of each regression
release is the reference for its numbers.
"""

from pathlib import Path

import yaml

from workflow.papers import Paper, Program

#: score file -> table and epsilon: one per epsilon that ``program.yaml`` names for a table.
FILES = {
    f"{table}_{round(10 * epsilon):02d}": (table, float(epsilon))
    for table, of in yaml.safe_load(Path(__file__).with_name("program.yaml").read_text(encoding="utf-8"))["run"].items()
    for epsilon in of
}
PAPER = Paper(
    key="chen2025dppf",
    title="Chen, Sanghi & Awan 2025 (DP-PF)",
    sources={"chen2025dppf": "Chen, Sanghi & Awan 2025 (DP-PF)"},
    family=2018,
    program=Program(
        __name__,
        scores=tuple(FILES),
        checks=("posteriors", "location_scale", "faults"),
        samples={
            "*-pf_conj-*;n=100;*": 2.0,
            "*-pf_ls-*epsilon=0.1;n=100;*": 1.0,
            "*-rejection_ls-*epsilon=0.1;n=100;*": 1.5,
            "*-mcmc_conj-*epsilon=2;n=100;*": 2.0,
        },
        chunks={
            "pf_fixed_conj_10": 3,
            "pf_fixed_conj_20": 5,
            "pf_fixed_nonconj_10": 3,
            "pf_fixed_nonconj_20": 5,
            "tab_nonconj_05": 4,
        },
        measures={"{metric}": "mean", "sd of {metric}": "std", "epsilon": "ledger_epsilon"},
        judged="The numbers are of single runs of samplers on one release. Filters are judged by two samples of single "
        "runs, posterior means of DP-DA-MCMC run by run by the exact posterior of the run's own release. Its chains "
        "without a second noise are a corrected reading, judged by two samples. Accepted draws of rejection sampling "
        "have the distribution of the exact posterior, so ours are drawn from it, and no draw was rejected here",
    ),
)
