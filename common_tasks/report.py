"""The contribution of the common tasks to the report: one page for all of them, and no table per experiment."""

from __future__ import annotations

from typing import Any

import pandas as pd

from common_tasks import beside_default, best, scores, sizes
from common_tasks import page as own_page
from reports import sampler_tables
from reports.contents import Added, Run, Tables, Whole

#: the committed table of tuned settings compared with the defaults.
TUNED = "common_tuned.csv"


def tables(run: Run) -> Tables:
    """No table of all methods, because the page has them, but one on the distance of released draws from exact ones."""
    named = run.config.get("extra_full", [])
    distances = sampler_tables.distance_table(run.extra, named, run.scale) if run.extra else None
    return Tables([], [distances] if distances else [])


def page(runs: list[Run], whole: Whole) -> Added:
    """Write the page, its tables and figures."""
    families = [scores.read(r.config, r.scores) for r in runs]
    notes = [n for r in runs for n in sampler_tables.distance_note(r.extra, r.config.get("extra_full", []))]
    first = runs[0]
    return own_page.build(
        whole.out, families, whole.ledger, whole.sizes, first.scale, whole.with_site, first.extra, notes
    )


def derived(pairs: list[tuple[dict[str, Any], pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """``common_tuned.csv``, ``common_best.csv`` and ``common_sizes.csv`` from the committed scores."""
    families = [scores.read(c, s) for c, s in pairs]
    return {
        TUNED: beside_default.tuned_frame(families),
        best.NAME: best.table(families),
        sizes.NAME: sizes.table(families),
    }
