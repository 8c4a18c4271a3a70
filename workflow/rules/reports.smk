from hashlib import sha256

ALL_SCORES = [
    f"{RESULTS}/scores/{e}/{d}.csv" for e in EXPERIMENTS for d in datasets_of(e)
]
#: verdicts of papers with their own code; none for experiments of one's own
OWN_TABLES = [
    f"{RESULTS}/{key}/tables/verdicts.csv.gz" for key in ([] if OWN else PROGRAMS)
]


def extra_of(*parts):
    """Tables that are no scores: what the experiments name under `extra`, and at full scale under `extra_full`."""
    keys = ["extra", "extra_full"] if SCALE == "full" else ["extra"]
    chosen = [load(p) for part in parts for p in configs_of(part)]
    return extra_done(n for config in chosen for k in keys for n in config.get(k, []))


def shown(folder, **labels):
    """What `snakemake --report` shows of a report: verdicts and claims, and each table and figure."""
    return {
        "verdicts": report(
            f"{folder}/verdicts.csv",
            category="Verdicts",
            labels={"table": "verdicts", **labels},
            caption="../report/verdicts.rst",
        ),
        "claims": report(
            f"{folder}/claims.csv",
            category="Verdicts",
            labels={"table": "claims", **labels},
            caption="../report/claims.rst",
        ),
        "tables": report(
            directory(f"{folder}/tables"),
            patterns=["{table}.csv"],
            category="Tables",
            labels={"table": "{table}", **labels},
        ),
        "figures": report(
            directory(f"{folder}/figures"),
            patterns=["{figure}.svg"],
            category="Figures",
            labels={"figure": "{figure}", **labels},
        ),
    }


rule manifest:
    """What the run was made with."""
    input:
        scores=ALL_SCORES,
        code=files("workflow.environment"),
    output:
        f"{RESULTS}/manifest.json",
    log:
        f"{RESULTS}/logs/manifest.log",
    params:
        scale=SCALE,
        noise=config["noise"],
    shell:
        "{ENVIRONMENT} {NOISE} logged {log:q} {PYTHON:q} -m workflow.environment --manifest {output:q} --scale {params.scale:q}"


rule report:
    """Verdicts, tables, claims, ledger and the site."""
    input:
        scores=ALL_SCORES,
        own=OWN_TABLES if SCALE == "full" else [],  # only a site at full scale shows them
        published=[
            *sorted(
                str(p.relative_to(ROOT))
                for q in PAPERS
                for p in [*q.home.glob("*.csv"), *q.home.glob("claims*.py")]
            ),
            "reports/glossary.csv",
        ],
        code=[
            *files("reports.build", *(m for p in PAPERS for m in p.modules)),
            *sorted(
                str(p.relative_to(ROOT))
                for folder in ("templates", "static")
                for p in (ROOT / "reports" / "site" / folder).iterdir()
            ),
            *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md")),
        ],
        extra=extra_of(*PARTS),
        findings=sorted(
            str(p.relative_to(ROOT))
            for home in [ROOT / "reports", *(p.home for p in PAPERS)]
            for p in home.glob("findings/**/*.*")
        ),
        configs=list(EXPERIMENTS.values()),
    output:
        f"{RESULTS}/report/index.html",
        **shown(RESULTS),
    log:
        f"{RESULTS}/logs/report.log",
    params:
        scale=SCALE,
        # other cells make another report; each result of `--report` repeats what stands here
        cells=sha256(" ".join(sorted(CELLS)).encode()).hexdigest(),
    shell:
        "logged {log:q} {PYTHON:q} -m reports.build all --scale {params.scale:q} --results {RESULTS:q} --scores {input.scores:q}"


rule downloads:
    """All tables to take away: of this run at full scale, else of the committed reference."""
    input:
        report=[f"{RESULTS}/report/index.html"] if SCALE == "full" else [],
        code=[
            *files("reports.downloads"),
            "dpbayes_bench/columns.csv",
            "dpbayes_bench/tables.py",
        ],
        committed=sorted(
            str(path.relative_to(ROOT))
            for pattern in ("reports", "papers/*", "common_tasks")
            for path in ROOT.glob(f"{pattern}/reference/**/*.csv*")
        ),
    output:
        f"{RESULTS}/report/downloads/dictionary.csv",
    log:
        f"{RESULTS}/logs/downloads.log",
    params:
        run=["--results", RESULTS] if SCALE == "full" else [],
    shell:
        "logged {log:q} {PYTHON:q} -m reports.downloads --out {RESULTS:q}/report/downloads {params.run:q}"


rule part:
    """The report of one target rule alone: it waits for no cell of another rule."""
    input:
        scores=lambda w: scores_of(w.part),
        extra=lambda w: extra_of(w.part),
        published=rules.report.input.published,
        code=rules.report.input.code,
        findings=rules.report.input.findings,
        configs=lambda w: configs_of(w.part),
    output:
        f"{RESULTS}/parts/{{part}}/report/index.html",
        **shown(f"{RESULTS}/parts/{{part}}", part="{part}"),
    log:
        f"{RESULTS}/logs/report_{{part}}.log",
    params:
        scale=SCALE,
    shell:
        "logged {log:q} {PYTHON:q} -m reports.build all --scale {params.scale:q} --results {RESULTS:q} --config {input.configs:q} "
        "--scores {input.scores:q} --out {RESULTS:q}/parts/{wildcards.part:q}"


def all_of(paper):
    """The last file that is made of a paper, or of the common tasks."""
    last = "tables/verdicts.csv.gz" if paper.program else "report/index.html"
    return f"{RESULTS}/{paper.key if paper.program else f'parts/{paper.key}'}/{last}"


# Snakemake takes the name of a rule as a target, and so a paper needs one; it does nothing.
for target in dict.fromkeys(
    [*(p.key for p in PAPERS), *(a for p in PAPERS for a in p.aliases)]
):

    rule:
        """All of one paper, or of the common tasks; an older name may stand for several papers."""
        name:
            target
        input:
            [all_of(p) for p in PAPERS if target in (p.key, *p.aliases)],


rule audit:
    """The privacy audit of every private method, as tables."""
    input:
        rules.privacy_audit.output,
        code=files("reports.audit_tables"),
    output:
        report(
            f"{RESULTS}/parts/audit/tables/privacy_audit.csv",
            category="Privacy audit",
        ),
        report(f"{RESULTS}/parts/audit/tables/leaks.csv", category="Privacy audit"),
    log:
        f"{RESULTS}/logs/report_audit.log",
    shell:
        "logged {log:q} {PYTHON:q} -m reports.audit_tables --extra {RESULTS:q}/extra --out {RESULTS:q}/parts/audit"


def print_hours():
    """After a dry run: what would run by paper, with its CPU hours."""
    if workflow.dryrun and workflow.scheduler is not None:
        from workflow import plan

        needed = workflow.dag.needrun_jobs(exclude_finished=False)
        found = [(job.rule.name, job.wildcards_dict) for job in needed if job.output]
        print(plan.hours_of(found, plan.estimate(SCALE, CELLS.values())))


if workflow.is_main_process:
    atexit.register(print_hours)
