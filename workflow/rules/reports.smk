rule report:
    """Verdicts, tables, claims, ledger and the site."""
    input:
        scores=[
            f"{RESULTS}/scores/{e}/{d}.csv"
            for e in EXPERIMENTS
            for d in datasets_of(e)
        ],
        published=[
            "reports/published/numbers.csv",
            "reports/published/annotations.csv",
            "reports/published/claims.csv",
        ],
        code=files("reports.build"),
        configs=list(EXPERIMENTS.values()),
    output:
        RESULTS + "/report/index.html",
    log:
        RESULTS + "/logs/report.log",
    params:
        scale=SCALE,
        cells=sorted(CELLS),
    shell:
        "{PYTHON} -m reports.build all --scale {params.scale} --results {RESULTS} 2> {log} "
        "|| {{ tail -n 20 {log} >&2; exit 1; }}"


rule bnn_regression:
    input:
        [
            f"{RESULTS}/scores/{e}/{d}.csv"
            for e, p in EXPERIMENTS.items()
            if load(p)["rule"] == "bnn_regression"
            for d in datasets_of(e)
        ],
        f"{RESULTS}/report/index.html",
