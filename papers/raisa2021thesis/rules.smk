import yaml

# read as text: parsing the Snakefile imports nothing heavy
with open(
    "papers/raisa2021thesis/experiments/raisa2021thesis.yaml", encoding="utf-8"
) as lines:
    RAISA2021 = yaml.safe_load(lines)


rule raisa2021thesis_table:
    """All boxes of one model and method: twenty chains in one array program."""
    input:
        code=files("papers.raisa2021thesis.run"),
        config="papers/raisa2021thesis/experiments/raisa2021thesis.yaml",
    output:
        f"{RESULTS}/raisa2021thesis/scores/{{model}}.{{method}}.csv.gz",
    log:
        f"{RESULTS}/logs/raisa2021thesis_{{model}}_{{method}}.log",
    params:
        scale=SCALE,
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.raisa2021thesis.run {wildcards.model}.{wildcards.method} --scale {params.scale} "
        "--out {output} 2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"


rule raisa2021thesis_check:
    """One small table that findings rest on."""
    input:
        code=files("papers.raisa2021thesis.checks"),
        config="papers/raisa2021thesis/experiments/raisa2021thesis.yaml",
    output:
        f"{RESULTS}/raisa2021thesis/checks/{{check}}.csv",
    log:
        f"{RESULTS}/logs/raisa2021thesis_check_{{check}}.log",
    wildcard_constraints:
        check="|".join(RAISA2021["checks"]),
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.raisa2021thesis.checks {wildcards.check} --out {output} "
        "2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"


rule raisa2021thesis:
    """Räisä (2021): verdicts, ledgers, claims, findings and figures; the source's data are drawn, not fetched."""
    input:
        scores=[
            f"{RESULTS}/raisa2021thesis/scores/{model}.{method}.csv.gz"
            for method, models in RAISA2021["settings"].items()
            for model in models
        ],
        checks=expand(
            f"{RESULTS}/raisa2021thesis/checks/{{check}}.csv",
            check=RAISA2021["checks"],
        ),
        code=files("papers.raisa2021thesis.build"),
    output:
        f"{RESULTS}/raisa2021thesis/tables/verdicts.csv.gz",
        report(
            f"{RESULTS}/raisa2021thesis/figures/raisa2021thesis_mmd.svg",
            category="Figures",
        ),
    log:
        f"{RESULTS}/logs/raisa2021thesis.log",
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.raisa2021thesis.build --scores {RESULTS}/raisa2021thesis/scores "
        "--checks {RESULTS}/raisa2021thesis/checks --out {RESULTS}/raisa2021thesis/tables "
        "--figures {RESULTS}/raisa2021thesis/figures 2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"
