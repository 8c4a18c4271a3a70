import datasets as data_sets


def mirror_state(wildcards):
    """Changes when a file appears in the mirror, so that a cell without data becomes real then."""
    about = data_sets.get(wildcards.dataset)
    folder = os.path.join(MIRROR, wildcards.dataset) if MIRROR else ""
    names = [raw.name for raw in about.raw]
    return [
        f"{n}:{os.path.getsize(os.path.join(folder, n))}"
        for n in names
        if os.path.isfile(os.path.join(folder, n))
    ]


rule fetch:
    """Download (or take from the mirror), check and parse one data set; without data it says why."""
    input:
        lambda w: files(f"datasets.{w.dataset}", "datasets.fetch"),
    output:
        RESULTS + "/data/{dataset}.npz",
    log:
        RESULTS + "/logs/fetch_{dataset}.log",
    retries: 1
    params:
        mirror=lambda w: f"--mirror '{MIRROR}'" if MIRROR else "",
        state=mirror_state,
    shell:
        "{PYTHON} -m datasets.fetch {wildcards.dataset} --raw {RESULTS}/raw --out {output} {params.mirror} 2>&1 | tee {log}"
