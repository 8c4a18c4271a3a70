#: name of tables that are made together -> key of their paper
HOMES = {extra.name: paper.key for paper in PAPERS for extra in paper.extra}
#: -> what the paper says of them; an experiment may have been taken out
EXTRA = {
    extra.name: extra
    for paper in PAPERS
    for extra in paper.extra
    if extra.experiment in ("", *EXPERIMENTS)
}
#: file of a table -> name of those that it is made with
MADE_WITH = {table: name for name, extra in EXTRA.items() for table in extra.tables}


def data_of(extra):
    """Data sets that these tables read."""
    return datasets_of(extra.experiment) if extra.datasets is None else extra.datasets


def read_by(name):
    """Cells whose stored fits these tables read."""
    extra = EXTRA[name]
    if not extra.fits:
        return []
    found = [c for c in cells_of(extra.experiment) if c.dataset in data_of(extra)]
    return [c for c in found if extra.fits == ("*",) or c.method in extra.fits]


def extra_done(tables):
    """What Snakemake knows of these tables: one file for those that are made together."""
    return sorted({f"{RESULTS}/done/{MADE_WITH[t]}.extra" for t in tables})


wildcard_constraints:
    extra="|".join(EXTRA) or "(?!)",
    table="|".join(map(re.escape, MADE_WITH)) or "(?!)",


rule extra:
    """Tables of one paper that are no scores: PAPER of its folder says what makes them of what."""
    input:
        config=lambda w: [EXPERIMENTS[e] for e in [EXTRA[w.extra].experiment] if e],
        data=lambda w: [f"{RESULTS}/data/{d}.npz" for d in data_of(EXTRA[w.extra])],
        fits=lambda w: done("fits", read_by(w.extra)) + restoring(read_by(w.extra)),
        code=lambda w: scoring_code(
            read_by(w.extra), "workflow.extra", *EXTRA[w.extra].modules
        ),
    output:
        f"{RESULTS}/done/{{extra}}.extra",
    log:
        f"{RESULTS}/logs/extra_{{extra}}.log",
    threads: 1
    params:
        scale=SCALE,
        paper=lambda w: HOMES[w.extra],
        table=lambda w: EXTRA[w.extra].tables[0],
        # another number than that of the last run if one of the tables is gone
        attempt=lambda w: run_files.attempt(
            RESULTS,
            f"{w.extra}.extra",
            RETRY,
            [f"{RESULTS}/extra/{t}" for t in EXTRA[w.extra].tables],
        ),
    shell:
        "{ENVIRONMENT} logged {log:q} {PYTHON:q} -m workflow.extra {params.paper:q} {params.table:q} --scale {params.scale:q} "
        "--results {RESULTS:q} --attempt {params.attempt:q}"


rule table:
    """One of these tables, for whoever asks for its file; the rule above writes it."""
    input:
        lambda w: extra_done([w.table]),
    output:
        f"{RESULTS}/extra/{{table}}",


#: single fits of papers with their own code
OWN_FITS = [program.fits for _, program in papers.programs().values()]


rule privacy_audit:
    """Checks of every private method and of papers with their own code, and mutants. Needs no data; minutes."""
    input:
        code=[
            *files("audit.tables"),
            *(f for fits in OWN_FITS for f in files(fits.partition(":")[0])),
            *sorted(str(p) for p in Path("methods").rglob("*.py")),
            *map(str, imports.outside()),
        ],
    output:
        checks=f"{RESULTS}/extra/privacy_audit.csv",
        mutants=f"{RESULTS}/extra/mutants.csv",
    log:
        f"{RESULTS}/logs/privacy_audit.log",
    params:
        fits=OWN_FITS,
    shell:
        "logged {log:q} {PYTHON:q} -m workflow.on_demand 'the audit' && "
        "{ENVIRONMENT} logged {log:q} {PYTHON:q} -m audit.tables --checks {output.checks:q} --mutants {output.mutants:q} "
        "--fits {params.fits:q} --kept {RESULTS:q}/audit"


rule lower_bounds:
    """A lower bound on the epsilon of every private method. Needs no data; up to an hour on one core; resumes."""
    input:
        code=[
            *files("audit.bounds"),
            *sorted(str(p) for p in Path("methods").rglob("*.py")),
            *map(str, imports.outside()),
        ],
    output:
        f"{RESULTS}/extra/lower_bounds.csv",
    log:
        f"{RESULTS}/logs/lower_bounds.log",
    shell:
        "logged {log:q} {PYTHON:q} -m workflow.on_demand 'the audit' && "
        "{ENVIRONMENT} logged {log:q} {PYTHON:q} -m audit.bounds --out {output:q} --kept {RESULTS:q}/audit"
