#: megabytes of the process that stands above the one that fits.
PARENT_MB = 500


class Anew:
    """Option of a call that asks for all fits (`--forcerun fit`, `--forceall`), also for those that are there.

    Snakemake knows what is forced when it writes the command, not yet when it reads this file.
    """

    def __str__(self):
        settings = workflow.dag_settings
        forced = settings.forceall or "fit" in settings.forcerun
        return "--anew" if forced and not workflow.remote_exec else ""


ANEW = Anew()


@cache
def runtimes():
    """Minutes of a job on a cluster, by its name. Here, and inside such a job, nobody asks for them."""
    if workflow.local_exec or workflow.remote_exec:
        return {}
    from workflow import plan

    return plan.runtimes(CELLS.values())


def runtime_of(job, attempt):
    """More for each time that the job is tried again (`retries` of the profile)."""
    return attempt * runtimes().get(job, 60)


def files_of(what, group):
    """What these cells leave in the results: `fits` or `draws`."""
    kinds = ["json", "npz"] if what == "fits" else ["npz"]
    return [f"{RESULTS}/{what}/{c.id}.{kind}" for c in group for kind in kinds]


def done(what, group):
    """What Snakemake knows of the fits or draws of these cells: one file of each of their jobs.

    Jobs that the reference holds whole are not planned: the scores of their data set restore them.
    """
    return [
        f"{RESULTS}/done/{job}.{what}" for job in jobs(group) if job not in RESTORED
    ]


def restoring(group):
    """The scores that restore these cells, for tables that read their fits."""
    restored = [c for c in group if c.job in RESTORED]
    return sorted(
        {f"{RESULTS}/scores/{c.experiment}/{c.dataset}.csv" for c in restored}
    )


def chunks_of(job):
    """What Snakemake knows of the ranges of splits of a job that are fitted at once."""
    chunks = max(c.chunks for c in JOBS[job])
    numbers = range(1, chunks + 1) if chunks > 1 else []
    return [f"{RESULTS}/done/{job}.chunk{k}" for k in numbers]


def code_of(group):
    """A parameter that changes with the code that these fits reach. As inputs, its files took a quarter of a plan."""
    return [c.code_hash for c in group]


rule fit:
    """The cells of one experiment and data set that read the runs of one method, over all splits. Resumes inside."""
    input:
        data=lambda w: f"{RESULTS}/data/{JOBS[w.job][0].dataset}.npz",
        chunks=lambda w: chunks_of(w.job),
    output:
        f"{RESULTS}/done/{{job}}.fits",
    log:
        f"{RESULTS}/logs/{{job}}.log",
    threads: 1
    resources:
        mem_mb=lambda w: max(c.mem_mb for c in JOBS[w.job]) + PARENT_MB,
        runtime=lambda w, attempt: runtime_of(w.job, attempt),
    params:
        values=lambda w: [c.values for c in JOBS[w.job]],
        code=lambda w: code_of(JOBS[w.job]),
        noise=config["noise"],
        # another number than that of the last run if that has lost splits, or one of its files is gone
        attempt=lambda w: run_files.attempt(
            RESULTS, w.job, RETRY, files_of("fits", JOBS[w.job])
        ),
        config=lambda w: EXPERIMENTS[JOBS[w.job][0].experiment],
    shell:
        "{ENVIRONMENT} {NOISE} "
        "logged {log:q} {PYTHON:q} -m workflow.cell --config {params.config:q} --scale {SCALE:q} --job {wildcards.job:q} "
        "--data {input.data:q} --results {RESULTS:q} {REUSE} {ANEW} "
        "--retry {RETRY:q} --attempt {params.attempt:q}"


rule fit_chunk:
    """A range of splits of a job that would take too long by itself; the job takes its rows over."""
    input:
        data=lambda w: f"{RESULTS}/data/{JOBS[w.job][0].dataset}.npz",
    output:
        f"{RESULTS}/done/{{job}}.chunk{{chunk}}",
    log:
        f"{RESULTS}/logs/{{job}}.chunk{{chunk}}.log",
    threads: 1
    resources:
        mem_mb=lambda w: max(c.mem_mb for c in JOBS[w.job]) + PARENT_MB,
        runtime=lambda w, attempt: runtime_of(w.job, attempt),
    params:
        values=lambda w: [c.values for c in JOBS[w.job]],
        code=lambda w: code_of(JOBS[w.job]),
        noise=config["noise"],
        config=lambda w: EXPERIMENTS[JOBS[w.job][0].experiment],
    shell:
        "{ENVIRONMENT} {NOISE} "
        "logged {log:q} {PYTHON:q} -m workflow.cell --config {params.config:q} --scale {SCALE:q} --job {wildcards.job:q} "
        "--chunk {wildcards.chunk:q} --data {input.data:q} --results {RESULTS:q} {REUSE} {ANEW} "
        "--retry {RETRY:q}"


rule cell:
    """One cell alone, for whoever asks for its file. It is fitted also if its job has left it."""
    input:
        data=lambda w: f"{RESULTS}/data/{CELLS[w.cell].dataset}.npz",
    output:
        f"{RESULTS}/fits/{{cell}}.json",
        f"{RESULTS}/fits/{{cell}}.npz",
    log:
        f"{RESULTS}/logs/{{cell}}.log",
    threads: 1
    resources:
        mem_mb=lambda w: CELLS[w.cell].mem_mb + PARENT_MB,
        runtime=lambda w, attempt: runtime_of(CELLS[w.cell].job, attempt),
    params:
        code=lambda w: code_of([CELLS[w.cell]]),
        noise=config["noise"],
        attempt=lambda w: run_files.attempt(RESULTS, w.cell, RETRY),
        config=lambda w: EXPERIMENTS[CELLS[w.cell].experiment],
    shell:
        "{ENVIRONMENT} {NOISE} "
        "logged {log:q} {PYTHON:q} -m workflow.cell --config {params.config:q} --scale {SCALE:q} --cell {wildcards.cell:q} "
        "--data {input.data:q} --results {RESULTS:q} {REUSE} "
        "--retry {RETRY:q} --attempt {params.attempt:q}"


def scoring_code(group, *roots):
    """Files that draws and scores of these cells rest on: scorers, metrics, and every posterior that their fits make."""
    shared = files(*roots, *{m for c in group for m in c.about.modules})
    return sorted({*shared, *(f for c in group for f in c.files)})


DRAWS_CODE = scoring_code([c for c in CELLS.values() if c.drawn], "workflow.draws")


rule draws:
    """What the scores of a job's cells need many draws of each posterior for; a new score re-runs none."""
    input:
        data=lambda w: f"{RESULTS}/data/{JOBS[w.job][0].dataset}.npz",
        fits=f"{RESULTS}/done/{{job}}.fits",
        code=DRAWS_CODE,
    output:
        f"{RESULTS}/done/{{job}}.draws",
    log:
        f"{RESULTS}/logs/draws_{{job}}.log",
    params:
        attempt=lambda w: run_files.attempt(
            RESULTS, f"draws_{w.job}", RETRY, files_of("draws", JOBS[w.job])
        ),
        config=lambda w: EXPERIMENTS[JOBS[w.job][0].experiment],
    shell:
        "{ENVIRONMENT} logged {log:q} {PYTHON:q} -m workflow.draws --config {params.config:q} --scale {SCALE:q} "
        "--job {wildcards.job:q} --attempt {params.attempt:q} --data {input.data:q} --results {RESULTS:q}"


rule score:
    """Tidy rows of one data set of one experiment; a new metric re-runs this and no fit."""
    input:
        data=f"{RESULTS}/data/{{dataset}}.npz",
        fits=lambda w: done("fits", cells_of(w.experiment, w.dataset)),
        draws=lambda w: done(
            "draws", [c for c in cells_of(w.experiment, w.dataset) if c.drawn]
        ),
        code=lambda w: scoring_code(cells_of(w.experiment, w.dataset), "workflow.score"),
    output:
        f"{RESULTS}/scores/{{experiment}}/{{dataset}}.csv",
    log:
        f"{RESULTS}/logs/score_{{experiment}}_{{dataset}}.log",
    params:
        scale=SCALE,
        config=lambda w: EXPERIMENTS[w.experiment],
        cells=lambda w: len(cells_of(w.experiment, w.dataset)),
    shell:
        "{ENVIRONMENT} logged {log:q} {PYTHON:q} -m workflow.score --config {params.config:q} --cells {params.cells:q} "
        "--scale {params.scale:q} --dataset {wildcards.dataset:q} --data {input.data:q} --results {RESULTS:q} "
        "{REUSE} --out {output:q}"
