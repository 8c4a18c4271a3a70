def data_of(extra):
    """Data sets that these tables read."""
    return datasets_of(extra.experiment) if extra.datasets is None else extra.datasets


def read_by(extra):
    """Cells whose stored fits these tables read."""
    if not extra.fits:
        return []
    found = [c for c in cells_of(extra.experiment) if c.dataset in data_of(extra)]
    return [c for c in found if extra.fits == ("*",) or c.method in extra.fits]


for paper in PAPERS:
    for extra in paper.extra:
        if extra.experiment and extra.experiment not in EXPERIMENTS:
            continue  # its experiment was taken out

        rule:
            """Tables of one paper that are no scores: PAPER of its folder says what makes them of what."""
            name:
                f"{paper.key}_{extra.name}"
            input:
                config=[EXPERIMENTS[extra.experiment]] if extra.experiment else [],
                data=[f"{RESULTS}/data/{d}.npz" for d in data_of(extra)],
                fits=done("fits", read_by(extra)) + restoring(read_by(extra)),
                code=scoring_code(read_by(extra), "workflow.extra", *extra.modules),
            output:
                [f"{RESULTS}/extra/{table}" for table in extra.tables],
            log:
                f"{RESULTS}/logs/{paper.key}_{extra.name}.log",
            threads: 1
            params:
                key=paper.key,
                table=extra.tables[0],
            shell:
                "{ENVIRONMENT} {PYTHON:q} -m workflow.extra {params.key:q} {params.table:q} --scale {SCALE:q} "
                "--results {RESULTS:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule privacy_audit:
    """Checks of every private method on toy tasks, and its mutants. Needs no data; minutes on one core."""
    input:
        code=[
            *files("audit.tables"),
            *sorted(str(p) for p in Path("methods").rglob("*.py")),
            *map(str, imports.outside()),
        ],
    output:
        checks=f"{RESULTS}/extra/privacy_audit.csv",
        mutants=f"{RESULTS}/extra/mutants.csv",
    log:
        f"{RESULTS}/logs/privacy_audit.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m audit.tables --checks {output.checks:q} --mutants {output.mutants:q} "
        "2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule distinguishing:
    """The distinguishing game of every family of private methods. Needs no data; minutes on one core."""
    input:
        code=[
            *files("audit.distinguishing"),
            *sorted(str(p) for p in Path("methods").rglob("*.py")),
            *map(str, imports.outside()),
        ],
    output:
        f"{RESULTS}/extra/distinguishing.csv",
    log:
        f"{RESULTS}/logs/distinguishing.log",
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m audit.distinguishing --out {output:q} "
        "2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"
