import csv

import yaml

# read as text: parsing the Snakefile imports nothing heavy
with open("papers/wang2018/datasets.csv", encoding="utf-8") as lines:
    WANG2018_TABLES = [row["dataset"] for row in csv.DictReader(lines)]
with open("papers/wang2018/experiments/wang2018.yaml", encoding="utf-8") as lines:
    WANG2018_CHECKS = yaml.safe_load(lines)["checks"]


rule wang2018_table:
    """All methods, readings and budgets on one table, the noise drawn many times over in one array operation a fold."""
    input:
        code=files("papers.wang2018.run"),
        config="papers/wang2018/experiments/wang2018.yaml",
        tables=["papers/wang2018/datasets.csv", "papers/wang2018/files.csv"],
    output:
        f"{RESULTS}/wang2018/scores/{{dataset}}.csv.gz",
    log:
        f"{RESULTS}/logs/wang2018_{{dataset}}.log",
    params:
        scale=SCALE,
        mirror=MIRROR_OPTION,
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.wang2018.run {wildcards.dataset} --scale {params.scale} --raw {RESULTS}/raw "
        "{params.mirror} --out {output} 2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"


rule wang2018_check:
    """One small table that findings rest on."""
    input:
        code=files("papers.wang2018.checks"),
    output:
        f"{RESULTS}/wang2018/checks/{{check}}.csv",
    log:
        f"{RESULTS}/logs/wang2018_check_{{check}}.log",
    wildcard_constraints:
        check="|".join(WANG2018_CHECKS),
    params:
        mirror=MIRROR_OPTION,
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.wang2018.checks {wildcards.check} {params.mirror} --out {output} "
        "2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"


rule wang2018:
    """Wang (2018): verdicts, ledgers, claims, findings and figures, from the raw tables."""
    input:
        scores=expand(
            f"{RESULTS}/wang2018/scores/{{dataset}}.csv.gz", dataset=WANG2018_TABLES
        ),
        checks=expand(f"{RESULTS}/wang2018/checks/{{check}}.csv", check=WANG2018_CHECKS),
        code=files("papers.wang2018.build"),
        published=["papers/wang2018/published.csv", "papers/wang2018/annotations.csv"],
        findings=sorted(map(str, Path("papers/wang2018/findings/source").glob("*.md"))),
    output:
        f"{RESULTS}/wang2018/tables/verdicts.csv.gz",
        report(f"{RESULTS}/wang2018/figures/wang2018_all_cells.svg", category="Figures"),
    log:
        f"{RESULTS}/logs/wang2018.log",
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.wang2018.build --scores {RESULTS}/wang2018/scores "
        "--checks {RESULTS}/wang2018/checks --out {RESULTS}/wang2018/tables --figures {RESULTS}/wang2018/figures "
        "2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"
