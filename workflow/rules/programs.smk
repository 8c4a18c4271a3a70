PROGRAMS = papers.programs()
#: papers whose tables are made from committed scores: at full scale, and unless their own code has changed
RESTORED_PROGRAMS = {
    key
    for key in PROGRAMS
    if config["reuse"] == "reference"
    and SCALE == "full"
    and not imports.differing(f"papers/{key}")
}


def restores(key, name):
    """The option that restores a small table at scale tiny, because these tables know no scale and take minutes."""
    tiny = SCALE == "tiny" and config["noise"] != environment.SECRET
    there = (PROGRAMS[key][0].reference / f"{name}.csv").is_file()
    return ["--reuse"] if tiny and there else []


@cache
def own_files(key):
    """Data and settings in the folder of a paper."""
    return [str(p.relative_to(imports.ROOT)) for p in PROGRAMS[key][0].inputs]


def module_of(named):
    return named.partition(":")[0]


def ranges_of(key, name):
    """What Snakemake knows of the ranges of a score file that are run at once. Below full scale there are none."""
    count = PROGRAMS[key][1].chunks.get(name, 1)
    if SCALE != "full" or count == 1:
        return []
    return [f"{RESULTS}/{key}/chunks/{name}.{k}" for k in range(1, count + 1)]


def program_inputs(module):
    """Inputs of the rules below: the code that they reach, and the files of the paper."""
    return {
        "code": lambda w: files(
            "workflow.program", module_of(getattr(PROGRAMS[w.program][1], module))
        ),
        "own": lambda w: own_files(w.program),
    }


wildcard_constraints:
    program="|".join(PROGRAMS) or "(?!)",


rule program_scores:
    """The score rows of one name, made by a paper's own program. Resumes inside."""
    input:
        **program_inputs("rows"),
        chunks=lambda w: ranges_of(w.program, w.name),
    output:
        f"{RESULTS}/{{program}}/scores/{{name}}.csv.gz",
    log:
        f"{RESULTS}/logs/{{program}}_scores_{{name}}.log",
    params:
        scale=SCALE,
        noise=config["noise"],
        mirror=MIRROR_OPTION,
    shell:
        "{ENVIRONMENT} {NOISE} logged {log:q} {PYTHON:q} -m workflow.program {wildcards.program:q} scores {wildcards.name:q} "
        "--scale {params.scale:q} --results {RESULTS:q} {MIRROR_OPTION} --out {output:q}"


rule program_chunk:
    """A range of the cells of a score file that would take too long by itself; the rule above takes its rows over."""
    input:
        **program_inputs("rows"),
    output:
        f"{RESULTS}/{{program}}/chunks/{{name}}.{{chunk}}",
    log:
        f"{RESULTS}/logs/{{program}}_scores_{{name}}.chunk{{chunk}}.log",
    params:
        scale=SCALE,
        noise=config["noise"],
        mirror=MIRROR_OPTION,
    shell:
        "{ENVIRONMENT} {NOISE} logged {log:q} {PYTHON:q} -m workflow.program {wildcards.program:q} scores {wildcards.name:q} "
        "--scale {params.scale:q} --chunk {wildcards.chunk:q} --results {RESULTS:q} {MIRROR_OPTION} --out {output:q}"


rule program_check:
    """One small table of such a paper that findings rest on."""
    input:
        **program_inputs("check"),
    output:
        f"{RESULTS}/{{program}}/checks/{{name}}.csv",
    log:
        f"{RESULTS}/logs/{{program}}_check_{{name}}.log",
    params:
        noise=config["noise"],
        mirror=MIRROR_OPTION,
        reuse=lambda w: restores(w.program, w.name),
    shell:
        "{ENVIRONMENT} {NOISE} logged {log:q} {PYTHON:q} -m workflow.program {wildcards.program:q} checks {wildcards.name:q} "
        "--results {RESULTS:q} {MIRROR_OPTION} {params.reuse:q} --out {output:q}"


rule program_tables:
    """Verdicts, ledgers, claims, findings and figures of such a paper."""
    input:
        scores=lambda w: [
            f"{RESULTS}/{w.program}/scores/{n}.csv.gz"
            for n in PROGRAMS[w.program][1].scores
            if w.program not in RESTORED_PROGRAMS
        ],
        checks=lambda w: [
            f"{RESULTS}/{w.program}/checks/{n}.csv"
            for n in PROGRAMS[w.program][1].checks
            if w.program not in RESTORED_PROGRAMS
        ],
        code=lambda w: files("reports.papers", *PROGRAMS[w.program][1].modules),
        own=lambda w: own_files(w.program),
        findings=lambda w: sorted(
            str(p.relative_to(imports.ROOT))
            for p in PROGRAMS[w.program][0].home.glob("findings/source/*.md")
        ),
    output:
        f"{RESULTS}/{{program}}/tables/verdicts.csv.gz",
        report(
            directory(f"{RESULTS}/{{program}}/figures"),
            patterns=["{figure}.svg"],
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{RESULTS}/logs/{{program}}.log",
    params:
        run=lambda w: [] if w.program in RESTORED_PROGRAMS else ["--results", RESULTS],
    shell:
        "{ENVIRONMENT} logged {log:q} {PYTHON:q} -m reports.papers {wildcards.program:q} {params.run:q} "
        "--out {RESULTS:q}/{wildcards.program:q}/tables --figures {RESULTS:q}/{wildcards.program:q}/figures"
