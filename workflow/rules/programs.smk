PROGRAMS = papers.programs()


def own_files(key):
    """Data and settings that stand in the folder of a paper."""
    home = PROGRAMS[key][0].home
    found = sorted([*home.glob("*.csv"), *home.glob("*.yaml")])
    return [str(p.relative_to(imports.ROOT)) for p in found]


def module_of(named):
    return named.partition(":")[0]


wildcard_constraints:
    program="|".join(PROGRAMS) or "(?!)",


rule program_scores:
    """The score rows of one name, made by a paper's own program."""
    input:
        code=lambda w: files("workflow.program", module_of(PROGRAMS[w.program][1].rows)),
        own=lambda w: own_files(w.program),
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
        "--scale {params.scale:q} --raw {RESULTS:q}/raw {MIRROR_OPTION} --out {output:q}"


rule program_check:
    """One small table of such a paper that findings rest on."""
    input:
        code=lambda w: files(
            "workflow.program", module_of(PROGRAMS[w.program][1].check)
        ),
        own=lambda w: own_files(w.program),
    output:
        f"{RESULTS}/{{program}}/checks/{{name}}.csv",
    log:
        f"{RESULTS}/logs/{{program}}_check_{{name}}.log",
    params:
        noise=config["noise"],
        mirror=MIRROR_OPTION,
    shell:
        "{ENVIRONMENT} {NOISE} logged {log:q} {PYTHON:q} -m workflow.program {wildcards.program:q} checks {wildcards.name:q} {MIRROR_OPTION} "
        "--out {output:q}"


rule program_tables:
    """Verdicts, ledgers, claims, findings and figures of such a paper."""
    input:
        scores=lambda w: [
            f"{RESULTS}/{w.program}/scores/{n}.csv.gz"
            for n in PROGRAMS[w.program][1].scores
        ],
        checks=lambda w: [
            f"{RESULTS}/{w.program}/checks/{n}.csv"
            for n in PROGRAMS[w.program][1].checks
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
    shell:
        "{ENVIRONMENT} logged {log:q} {PYTHON:q} -m reports.papers {wildcards.program:q} --results {RESULTS:q} "
        "--out {RESULTS:q}/{wildcards.program:q}/tables --figures {RESULTS:q}/{wildcards.program:q}/figures"
