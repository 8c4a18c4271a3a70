import atexit
import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path

import datasets as data_sets
from datasets.files import ROOT, folder_name
from methods import contract
from workflow import environment, imports, papers, store as run_files
from workflow.experiments import (
    ConfigError,
    cells,
    check_published,
    experiment_files,
    jobs,
    load,
)
from workflow.imports import files

if workflow.is_main_process:
    contract.on_import = run_files.importing

KNOWN = {
    "scale",
    "reuse",
    "refit",
    "retry",
    "mirror",
    "results",
    "noise",
    "container",
    "methods",
    "datasets",
    "experiments",
}
if unknown := sorted(set(config) - KNOWN):
    raise ConfigError(
        f"config: unknown key '{unknown[0]}'; config/config.yaml has {', '.join(sorted(KNOWN))}"
    )

# from outside: every process of the run reads these variables (methods.contract, datasets)
for key, variable in {
    "methods": contract.OUTSIDE,
    "datasets": data_sets.OUTSIDE,
}.items():
    given = [p for p in str(config.get(key) or "").split(",") if p]
    if missing := [p for p in given if not os.path.isfile(p)]:
        raise ConfigError(f"config: {key}: no file {missing[0]}; name Python files")
    if given:
        os.environ[variable] = os.pathsep.join(os.path.abspath(p) for p in given)

SCALE = config["scale"]
try:
    RESULTS = folder_name(config["results"], "config: results")
except ValueError as e:
    raise ConfigError(str(e)) from None
if config["reuse"] not in ("none", "reference"):
    raise ConfigError(f"config: reuse is '{config['reuse']}'; choose none or reference")
if config["noise"] not in environment.NOISES:
    raise ConfigError(
        f"config: noise is '{config['noise']}'; choose {' or '.join(environment.NOISES)}"
    )
if config["noise"] == environment.SECRET and config["reuse"] != "none":
    raise ConfigError(
        "config: noise=secret with reuse=reference: the noise of committed cells is public; take reuse=none"
    )
NOISE = f"{environment.NOISE_VARIABLE}={shlex.quote(config['noise'])}"
RETRY = config["retry"]
if RETRY not in run_files.RETRIED:
    raise ConfigError(
        f"config: retry is '{RETRY}'; choose {' or '.join(run_files.RETRIED)}"
    )
MIRROR = os.environ.get("DPBAYES_MIRROR") or config["mirror"]
# in a container the interpreter is that of the image
IN_CONTAINER = config["container"] and any(
    m.name == "APPTAINER" for m in workflow.deployment_settings.deployment_method
)
PYTHON = "python" if IN_CONTAINER else sys.executable
# Whatever goes into a shell command is quoted: here, or by Snakemake where the command says :q.
ENVIRONMENT = " ".join(
    f"{k}={shlex.quote(v)}" for k, v in environment.variables().items()
)

# Snakemake deletes a job's log before it tries the job again. So the log is a link to NAME.log.tries, to which each try
# appends, also one that is killed.
shell.prefix(
    "set -euo pipefail; "
    'kept() {{ ln -sf "$(basename "$1").tries" "$1"; date "+%F %T" >> "$1"; }}; '
    'logged() {{ local log="$1"; shift; kept "$log"; "$@" 2>> "$log" || {{ tail -n 20 "$log" >&2; exit 1; }}; }}; '
)

# an experiment file of one's own takes the place of those of the papers and the common tasks
OWN = [p for p in str(config.get("experiments") or "").split(",") if p]
try:
    EXPERIMENTS = {load(path)["experiment"]: path for path in OWN or experiment_files()}
    CELLS = {
        cell.id: cell for path in EXPERIMENTS.values() for cell in cells(path, SCALE)
    }
    check_published(
        [p for p in papers.papers() if not OWN or {*p.experiments} & {*EXPERIMENTS}],
        SCALE,
    )
except ConfigError as e:
    sys.exit(f"bench: {e}")  # one line, without Snakemake's list of files and lines
JOBS = jobs(CELLS.values())


# what is not restored: methods that are named, and those whose own files differ from the merge base
REFIT = sorted({m for m in str(config.get("refit") or "").split(",") if m})
if unknown := sorted(set(REFIT) - set(contract.names())):
    raise ConfigError(f"config: refit: no method '{unknown[0]}' in methods/")
REUSE, RESTORED = "", set()
if config["reuse"] == "reference":
    from workflow import committed  # needs pandas, which a run of its own does not

    DIFFERING = imports.differing("methods")
    REFIT = sorted(
        {
            *REFIT,
            *(c.method for c in CELLS.values() if DIFFERING & set(c.own_files)),
        }
    )
    REUSE = "--reuse reports/reference"
    RESTORED = committed.restored_jobs(CELLS.values(), REFIT)
    if REFIT:
        REUSE += f" --refit {' '.join(REFIT)}"
        print(f"bench: fitted, not restored: {', '.join(REFIT)}", file=sys.stderr)
elif REFIT:
    raise ConfigError("config: refit is of use with reuse=reference only")


for why in contract.broken():
    print(f"bench: left out: {why}", file=sys.stderr)
# for ./bench, whose exit status says so; it also tells a plan that was made from one that a file of a method has ended
if note := os.environ.get(run_files.LEFT_OUT):
    Path(note).write_text("".join(f"{why}\n" for why in contract.broken()))

if workflow.is_main_process:
    for what in run_files.check_run(RESULTS):
        print(f"bench: {what}", file=sys.stderr)


#: target rules: the papers and the common tasks, by the names of their folders
PAPERS = papers.papers()
#: those of experiments, which are parts of the report of a run
PARTS = [p.key for p in papers.of_experiments()]


def cells_of(experiment, dataset=None):
    return [
        c
        for c in CELLS.values()
        if c.experiment == experiment and dataset in (None, c.dataset)
    ]


def configs_of(part):
    """Experiment files of one target rule."""
    found = {p: papers.paper_of(Path(p).stem) for p in EXPERIMENTS.values()}
    return [p for p, paper in found.items() if paper and paper.key == part]


def scores_of(part):
    """Scores of all experiments of one target rule."""
    return [
        f"{RESULTS}/scores/{load(p)['experiment']}/{d}.csv"
        for p in configs_of(part)
        for d in datasets_of(load(p)["experiment"])
    ]


def datasets_of(experiment):
    return list(dict.fromkeys(c.dataset for c in cells_of(experiment)))


wildcard_constraints:
    dataset="[a-z0-9_]+",
    experiment="[a-z0-9_]+",
    cell="[a-z0-9_.-]+",
    job="[a-z0-9_.-]+",
    chunk="[0-9]+",
    part="|".join(PARTS) or "(?!)",


onstart:
    # Snakemake 9 limits jobs to 100 a second, and looks at all ready jobs anew a second after each look. Every job that
    # ends adds a look, and so one more such chain: after some hundreds of jobs its own process takes half a core.
    # Without the limit it looks when a job ends. On a cluster the limit stays.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
