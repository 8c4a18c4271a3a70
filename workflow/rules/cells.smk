#: cells that are no member of a family, by the hash at the end of their ids (a pattern of whole ids is ten times as long,
#: and Snakemake compiles it for every file of a rule); a pattern that nothing matches where there is none.
ALONE = "|".join(c.id.rpartition("-")[2] for c in CELLS.values() if not c.family)
ALONE = f"[a-z0-9_.-]+-(?:{ALONE})" if ALONE else "(?!)"

#: megabytes of the process that stands above the one that fits.
PARENT_MB = 500


@cache
def runtimes():
    """Minutes of a job on a cluster, by cell or family. Here, and inside such a job, nobody asks for them."""
    if workflow.local_exec or workflow.remote_exec:
        return {}
    from workflow import plan

    return plan.runtimes(CELLS.values())


def runtime_of(w, attempt, name=None):
    """More for each time that the job is tried again (`retries` of the profile)."""
    return attempt * runtimes().get(name or w.cell, 60)


rule fit:
    """One cell: one method at one setting on one data set, over all splits. Resumes inside."""
    input:
        data=lambda w: f"{RESULTS}/data/{CELLS[w.cell].dataset}.npz",
        code=lambda w: CELLS[w.cell].files,
    output:
        f"{RESULTS}/fits/{{cell}}.json",
        f"{RESULTS}/fits/{{cell}}.npz",
    log:
        f"{RESULTS}/logs/{{cell}}.log",
    wildcard_constraints:
        cell=ALONE,
    threads: 1
    resources:
        mem_mb=lambda w: CELLS[w.cell].mem_mb + PARENT_MB,
        runtime=runtime_of,
    params:
        values=lambda w: CELLS[w.cell].values,
        noise=config["noise"],
        # another number than that of the last run where that has lost splits: they are tried again
        attempt=lambda w: attempts.wanted(RESULTS, w.cell, RETRY),
        config=lambda w: EXPERIMENTS[CELLS[w.cell].experiment],
    shell:
        "{ENVIRONMENT} {NOISE} "
        "{PYTHON:q} -m workflow.cell --config {params.config:q} --scale {SCALE:q} --cell {wildcards.cell:q} "
        "--data {input.data:q} --results {RESULTS:q} {REUSE} "
        "--retry {RETRY:q} --attempt {params.attempt:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


for name, group in families(CELLS.values()).items():

    rule:
        """One family of cells: one method at many budgets on one data set, fitted together split by split."""
        name:
            f"fit_{name.replace('-', '_')}"
        input:
            data=f"{RESULTS}/data/{group[0].dataset}.npz",
            code=group[0].files,
        output:
            expand(
                f"{RESULTS}/fits/{{cell}}.{{kind}}",
                cell=[c.id for c in group],
                kind=["json", "npz"],
            ),
        log:
            f"{RESULTS}/logs/{name}.log",
        threads: 1
        resources:
            mem_mb=group[0].mem_mb + PARENT_MB,
            runtime=partial(runtime_of, name=name),
        params:
            values=[c.values for c in group],
            noise=config["noise"],
            attempt=attempts.wanted(RESULTS, name, RETRY),
            config=EXPERIMENTS[group[0].experiment],
            family=name,
        shell:
            "{ENVIRONMENT} {NOISE} "
            "{PYTHON:q} -m workflow.cell --config {params.config:q} --scale {SCALE:q} --cell {params.family:q} "
            "--data {input.data:q} --results {RESULTS:q} {REUSE} "
            "--retry {RETRY:q} --attempt {params.attempt:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"


def scoring_code(group, *roots):
    """Files that draws and scores of these cells rest on: scorers, metrics, and every posterior that their fits make."""
    shared = files(*roots, *{m for c in group for m in c.about.modules})
    return sorted({*shared, *(f for c in group for f in c.files)})


DRAWS_CODE = scoring_code([c for c in CELLS.values() if c.drawn], "workflow.draws")


rule draws:
    """What the scores of one cell need many draws of its posterior for; a new score re-runs none."""
    input:
        data=lambda w: f"{RESULTS}/data/{CELLS[w.cell].dataset}.npz",
        fit=f"{RESULTS}/fits/{{cell}}.json",
        code=DRAWS_CODE,
    output:
        f"{RESULTS}/draws/{{cell}}.npz",
    log:
        f"{RESULTS}/logs/draws_{{cell}}.log",
    wildcard_constraints:
        cell=ALONE,
    params:
        config=lambda w: EXPERIMENTS[CELLS[w.cell].experiment],
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.draws --config {params.config:q} --scale {SCALE:q} "
        "--cell {wildcards.cell:q} --data {input.data:q} --results {RESULTS:q} 2> {log:q} "
        "|| {{ tail -n 20 {log:q} >&2; exit 1; }}"


for name, group in families(c for c in CELLS.values() if c.drawn).items():

    rule:
        """The same for a family of cells."""
        name:
            f"draws_{name.replace('-', '_')}"
        input:
            data=f"{RESULTS}/data/{group[0].dataset}.npz",
            fits=[f"{RESULTS}/fits/{c.id}.json" for c in group],
            code=DRAWS_CODE,
        output:
            [f"{RESULTS}/draws/{c.id}.npz" for c in group],
        log:
            f"{RESULTS}/logs/draws_{name}.log",
        params:
            config=EXPERIMENTS[group[0].experiment],
            family=name,
        shell:
            "{ENVIRONMENT} {PYTHON:q} -m workflow.draws --config {params.config:q} "
            "--scale {SCALE:q} --cell {params.family:q} --data {input.data:q} --results {RESULTS:q} 2> {log:q} "
            "|| {{ tail -n 20 {log:q} >&2; exit 1; }}"


rule score:
    """Tidy rows of one data set of one experiment; a new metric re-runs this and no fit."""
    input:
        data=f"{RESULTS}/data/{{dataset}}.npz",
        fits=lambda w: [
            f"{RESULTS}/fits/{c.id}.json" for c in cells_of(w.experiment, w.dataset)
        ],
        draws=lambda w: [
            f"{RESULTS}/draws/{c.id}.npz"
            for c in cells_of(w.experiment, w.dataset)
            if c.drawn
        ],
        code=lambda w: scoring_code(
            cells_of(w.experiment, w.dataset), "workflow.score", "workflow.exact"
        ),
    output:
        f"{RESULTS}/scores/{{experiment}}/{{dataset}}.csv",
    log:
        f"{RESULTS}/logs/score_{{experiment}}_{{dataset}}.log",
    params:
        scale=SCALE,
        config=lambda w: EXPERIMENTS[w.experiment],
    shell:
        "{ENVIRONMENT} {PYTHON:q} -m workflow.score --config {params.config:q} "
        "--scale {params.scale:q} --dataset {wildcards.dataset:q} --data {input.data:q} --fits {RESULTS:q}/fits "
        "--draws {RESULTS:q}/draws --out {output:q} 2> {log:q} || {{ tail -n 20 {log:q} >&2; exit 1; }}"
