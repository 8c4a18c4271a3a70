rule kl_bound:
    """Theorem 4.1 of DP-SEP: Monte Carlo beside the printed bounds and the corrected one. Needs no data."""
    input:
        code=files("evaluation.kl_claims"),
    output:
        RESULTS + "/extra/kl_bound.csv",
        RESULTS + "/extra/kl_bound_slopes.csv",
        RESULTS + "/extra/kl_bound_steps.csv",
        RESULTS + "/extra/kl_bound_claims.csv",
    log:
        RESULTS + "/logs/kl_bound.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m evaluation.kl_claims {output[0]:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule rdp_exponential_family:
    """Figures 1 and 2 and the appendix of RDP posterior sampling in exponential families. Needs no data."""
    input:
        config="config/experiments/rdp_exponential_family.yaml",
        code=files("workflow.rdp_exponential_family"),
    output:
        RESULTS + "/extra/rdp_figure1.csv",
        RESULTS + "/extra/rdp_figure2_kl.csv",
        RESULTS + "/extra/rdp_figure2_heldout.csv",
        RESULTS + "/extra/rdp_suprema.csv",
        RESULTS + "/extra/rdp_claims.csv",
    log:
        RESULTS + "/logs/rdp_exponential_family.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.rdp_exponential_family --config {input.config:q} "
        "--out-folder {RESULTS:q}/extra 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule dpem_sensitivity:
    """Declared against measured sensitivities of DP-EM on pairs of neighbours, and the epsilon of its noise."""
    input:
        data=RESULTS + "/data/life_science.npz",
        code=files("workflow.dpem_sensitivity"),
    output:
        RESULTS + "/extra/dpem_sensitivity.csv",
        RESULTS + "/extra/dpem_epsilon.csv",
    log:
        RESULTS + "/logs/dpem_sensitivity.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.dpem_sensitivity --data {input.data:q} "
        "--out-folder {RESULTS:q}/extra 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule em_steps:
    """EM without noise in DP-EM's experiment, step by step, and where the program's tolerance stops it."""
    input:
        config="config/experiments/dpem_life_science.yaml",
        data=RESULTS + "/data/life_science.npz",
        code=files("workflow.em_steps"),
    output:
        RESULTS + "/extra/em_steps.csv",
    log:
        RESULTS + "/logs/em_steps.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.em_steps --config {input.config:q} --data {input.data:q} "
        "--out {output:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule sampler_check:
    """The sampler of logistic posteriors against long chains of another one, on 12 fixed posteriors of a data set."""
    input:
        data=RESULTS + "/data/{dataset}.npz",
        code=files("workflow.sampler_check"),
    output:
        RESULTS + "/extra/rdp_sampler_{dataset}.csv",
    log:
        RESULTS + "/logs/sampler_check_{dataset}.log",
    threads: 1
    params:
        # below full scale one posterior a data set: enough to run every line
        laws=12 if SCALE == "full" else 1,
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.sampler_check "
        "--config config/experiments/rdp_logistic.yaml --dataset {wildcards.dataset:q} --data {input.data:q} "
        "--out {output:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule sampler_separable:
    """Draws of one weight from separable posteriors, against quadrature. Needs no data."""
    input:
        code=files("workflow.sampler_check"),
    output:
        RESULTS + "/extra/sampler_separable.csv",
    log:
        RESULTS + "/logs/sampler_separable.log",
    threads: 1
    params:
        laws=12 if SCALE == "full" else 1,
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.sampler_check --table separable --laws {params.laws:q} --out {output:q} "
        "2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule sampler_common:
    """Draws of the common task's posteriors, at its budgets, against independent references."""
    input:
        data=RESULTS + "/data/{dataset}.npz",
        config="config/experiments/common_logistic_regression.yaml",
        code=files("workflow.sampler_check"),
    output:
        RESULTS + "/extra/sampler_common_{dataset}.csv",
    log:
        RESULTS + "/logs/sampler_common_{dataset}.log",
    threads: 1
    params:
        laws=12 if SCALE == "full" else 1,
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.sampler_check --table common --config {input.config:q} "
        "--dataset {wildcards.dataset:q} --data {input.data:q} --laws {params.laws:q} --out {output:q} "
        "2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule noise_aware_checks:
    """Coverage of NA-DPVI under other priors, of the exact posterior made too narrow or wide, by other references."""
    input:
        data=RESULTS + "/data/{dataset}.npz",
        fits=lambda w: [
            f"{RESULTS}/fits/{c.id}.json"
            for c in CELLS.values()
            if c.dataset == w.dataset
            and c.experiment in ("nadpvi_exponential", "nadpvi_linear")
            and c.method.startswith(
                {
                    "priors": "na_dpvi",
                    "controls": "exact_posterior",
                    "references": "bernstein_sheldon_2019",
                }[w.table]
            )
        ],
        code=["workflow/noise_aware_checks.py", *DRAWS_CODE],
    output:
        RESULTS + "/extra/na_dpvi_{table}_{dataset}.csv",
    log:
        RESULTS + "/logs/noise_aware_{table}_{dataset}.log",
    wildcard_constraints:
        table="priors|controls|references",
    params:
        config=lambda w: EXPERIMENTS[
            (
                "nadpvi_linear"
                if w.dataset == "linear_regression_10d"
                else "nadpvi_exponential"
            )
        ],
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.noise_aware_checks --table {wildcards.table:q} "
        "--config {params.config:q} --scale {SCALE:q} --dataset {wildcards.dataset:q} --data {input.data:q} "
        "--results {RESULTS:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule bayes_by_backprop_claims:
    """What the note on DP Bayes by backprop states: guarantees of one noise, means of its updates. Needs no data."""
    input:
        config="config/experiments/dp_bayes_by_backprop.yaml",
        code=files(
            "workflow.bayes_by_backprop_claims",
            "methods.bayes_by_backprop.dp_bayes_by_backprop",
            "methods.bayes_by_backprop.dp_bayes_by_backprop_note",
        ),
    output:
        RESULTS + "/extra/bbb_accounting.csv",
        RESULTS + "/extra/bbb_rho_gradient.csv",
        RESULTS + "/extra/bbb_claims.csv",
    log:
        RESULTS + "/logs/bayes_by_backprop_claims.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.bayes_by_backprop_claims --config {input.config:q} "
        "--out-folder {RESULTS:q}/extra 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule classifier_curves:
    """Learning curves and reliability bins of the classifiers, from their stored posteriors; re-runs no fit."""
    input:
        data=lambda w: [
            f"{RESULTS}/data/{d}.npz" for d in datasets_of("dp_bayes_by_backprop")
        ],
        fits=lambda w: [
            f"{RESULTS}/fits/{c.id}.json" for c in cells_of("dp_bayes_by_backprop")
        ],
        code=files(
            "workflow.classifier_curves",
            "models.posteriors",
            "models.bnn_classification",
        ),
    output:
        RESULTS + "/extra/bbb_learning_curves.csv",
        RESULTS + "/extra/bbb_reliability.csv",
    log:
        RESULTS + "/logs/classifier_curves.log",
    params:
        scale=SCALE,
        # no cell of this scale reads data: no option then
        data=lambda w, input: ["--data", input.data[0]] if input.data else [],
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.classifier_curves --config "
        "config/experiments/dp_bayes_by_backprop.yaml --scale {params.scale:q} {params.data:q} --fits {RESULTS:q}/fits "
        "--learning {output[0]:q} --reliability {output[1]:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule common_controls:
    """Coverage of the exact posterior of linear regression, and of one twice too narrow or too wide. Needs no data."""
    input:
        code=files("workflow.common_controls"),
    output:
        RESULTS + "/extra/common_controls.csv",
    log:
        RESULTS + "/logs/common_controls.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.common_controls --out {output:q} 2> {log:q} "
        "|| {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule common_reliability:
    """Reliability of the class probabilities of logistic regression, from stored posteriors; re-runs no fit."""
    input:
        data=lambda w: [
            f"{RESULTS}/data/{d}.npz"
            for d in datasets_of("common_logistic_regression")
        ],
        fits=lambda w: [
            f"{RESULTS}/fits/{c.id}.json"
            for c in cells_of("common_logistic_regression")
        ],
        code=files("workflow.common_reliability", "models.posteriors"),
    output:
        RESULTS + "/extra/common_reliability.csv",
    log:
        RESULTS + "/logs/common_reliability.log",
    params:
        scale=SCALE,
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.common_reliability --config "
        "config/experiments/common_logistic_regression.yaml --scale {params.scale:q} --data {RESULTS:q}/data "
        "--fits {RESULTS:q}/fits --out {output:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule privacy_audit:
    """Checks of every private method on toy tasks, and its mutants. Needs no data; minutes on one core."""
    input:
        code=[
            *files("workflow.audit"),
            *sorted(str(p) for p in Path("methods").rglob("*.py")),
        ],
    output:
        RESULTS + "/extra/privacy_audit.csv",
        RESULTS + "/extra/mutants.csv",
    log:
        RESULTS + "/logs/privacy_audit.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.audit --checks {output[0]:q} --mutants {output[1]:q} "
        "2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule distinguishing:
    """The distinguishing game of every family of private methods. Needs no data; minutes on one core."""
    input:
        code=[
            *files("workflow.distinguishing"),
            *sorted(str(p) for p in Path("methods").rglob("*.py")),
        ],
    output:
        RESULTS + "/extra/distinguishing.csv",
    log:
        RESULTS + "/logs/distinguishing.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.distinguishing --out {output:q} "
        "2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"
