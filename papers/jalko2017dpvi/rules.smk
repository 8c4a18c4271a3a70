import yaml

# read as text: parsing the Snakefile imports nothing heavy
with open(
    "papers/jalko2017dpvi/experiments/jalko2017dpvi.yaml", encoding="utf-8"
) as lines:
    JALKO2017 = yaml.safe_load(lines)


rule jalko2017dpvi_table:
    """All cells of one figure, in both readings: the repetitions of a cell in one array program."""
    input:
        code=files("papers.jalko2017dpvi.run"),
        config="papers/jalko2017dpvi/experiments/jalko2017dpvi.yaml",
    output:
        f"{RESULTS}/jalko2017dpvi/scores/{{table}}.csv.gz",
    log:
        f"{RESULTS}/logs/jalko2017dpvi_{{table}}.log",
    params:
        scale=SCALE,
        mirror=MIRROR_OPTION,
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.jalko2017dpvi.run {wildcards.table} --scale {params.scale} "
        "--raw {RESULTS}/raw {params.mirror} --out {output} 2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"


rule jalko2017dpvi_check:
    """One small table that findings rest on."""
    input:
        code=files("papers.jalko2017dpvi.checks"),
    output:
        f"{RESULTS}/jalko2017dpvi/checks/{{check}}.csv",
    log:
        f"{RESULTS}/logs/jalko2017dpvi_check_{{check}}.log",
    wildcard_constraints:
        check="|".join(JALKO2017["checks"]),
    params:
        mirror=MIRROR_OPTION,
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.jalko2017dpvi.checks {wildcards.check} {params.mirror} --out {output} "
        "2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"


rule jalko2017dpvi:
    """Jälkö et al. (2017): verdicts, ledgers, claims, findings and figures, from the raw tables."""
    input:
        scores=expand(
            f"{RESULTS}/jalko2017dpvi/scores/{{table}}.csv.gz",
            table=JALKO2017["tables"],
        ),
        checks=expand(
            f"{RESULTS}/jalko2017dpvi/checks/{{check}}.csv", check=JALKO2017["checks"]
        ),
        code=files("papers.jalko2017dpvi.build"),
    output:
        f"{RESULTS}/jalko2017dpvi/tables/verdicts.csv.gz",
        report(
            f"{RESULTS}/jalko2017dpvi/figures/jalko2017dpvi_all_cells.svg",
            category="Figures",
        ),
    log:
        f"{RESULTS}/logs/jalko2017dpvi.log",
    shell:
        "{ENVIRONMENT} {PYTHON} -m papers.jalko2017dpvi.build --scores {RESULTS}/jalko2017dpvi/scores "
        "--checks {RESULTS}/jalko2017dpvi/checks --out {RESULTS}/jalko2017dpvi/tables "
        "--figures {RESULTS}/jalko2017dpvi/figures 2> {log} || {{ tail -n 20 {log} >&2; exit 1; }}"
