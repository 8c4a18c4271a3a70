# dpbayes-bench: which published numbers and privacy claims of differentially private Bayesian inference hold?
#
#   source -> table -> cells (fit) -> scores -> verdicts, tables, site          see ARCHITECTURE.md

from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


# of every rule, with `--sdm apptainer`; without that option it does nothing
if config["container"]:

    container: config["container"]


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/cells.smk"
include: "workflow/rules/extra.smk"
include: "workflow/rules/programs.smk"
include: "workflow/rules/reports.smk"


rule all:
    """Verdicts, tables and figures of all papers and of the common tasks."""
    default_target: True
    input:
        f"{RESULTS}/report/index.html",
        OWN_TABLES,
