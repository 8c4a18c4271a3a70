ALL_SCORES = [
    f"{RESULTS}/scores/{e}/{d}.csv" for e in EXPERIMENTS for d in datasets_of(e)
]


rule manifest:
    """What the run was made with."""
    input:
        scores=ALL_SCORES,
        code=files("workflow.manifest"),
    output:
        RESULTS + "/manifest.json",
    log:
        RESULTS + "/logs/manifest.log",
    params:
        scale=SCALE,
    shell:
        "{PYTHON} -m workflow.manifest --scale {params.scale} --out {output} 2> {log}"


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
        code=[
            *files("reports.build"),
            "reports/templates/index.html",
            "reports/templates/style.css",
        ],
        findings=sorted(str(p) for p in Path("reports/findings").iterdir()),
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
