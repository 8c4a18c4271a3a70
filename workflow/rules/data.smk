from datasets import store
from datasets.fetch import mirror_folder


def files_in_mirror(name):
    """Names and sizes of the raw files that the mirror holds."""
    dataset = data_sets.get(name)
    folder = os.path.join(MIRROR, mirror_folder(dataset)) if MIRROR else ""
    found = [os.path.join(folder, raw.name) for raw in dataset.raw]
    return " ".join(
        f"{os.path.basename(f)}:{os.path.getsize(f)}"
        for f in found
        if os.path.isfile(f)
    )


def tried_with(wildcards):
    """What the mirror held when the table was made; what it holds now, if there is no table yet.

    So a table that is there never depends on where it came from (another mirror, or none, re-runs nothing), and a
    data set without data is tried again as soon as its file appears.
    """
    name = wildcards.dataset
    table, note = f"{RESULTS}/data/{name}.npz", f"{RESULTS}/data/{name}.tried"
    found = store.status(table)
    if found == "ok" and os.path.exists(note):
        return Path(note).read_text()
    if not found and os.path.exists(
        table
    ):  # other words than those of its last run: it is made anew
        return f"damaged table; {files_in_mirror(name)}"
    return files_in_mirror(name)


MIRROR_OPTION = f"--mirror {shlex.quote(MIRROR)}" if MIRROR else ""


rule fetch:
    """Download (or take from the mirror), check and parse one data set; without data it says why."""
    input:
        lambda w: [
            *files(f"datasets.{w.dataset}", "datasets.fetch"),
            *(str(p) for p in data_sets.outside() if p.stem == w.dataset),
        ],
    output:
        f"{RESULTS}/data/{{dataset}}.npz",
    log:
        f"{RESULTS}/logs/fetch_{{dataset}}.log",
    retries: 1
    params:
        tried=tried_with,
    shell:
        "kept {log:q}; {ENVIRONMENT} {PYTHON:q} -m datasets.fetch {wildcards.dataset:q} --raw {RESULTS:q}/raw --out {output:q} {MIRROR_OPTION} 2>&1 "
        "| tee -a {log:q} && printf '%s' {params.tried:q} > {RESULTS:q}/data/{wildcards.dataset:q}.tried"
