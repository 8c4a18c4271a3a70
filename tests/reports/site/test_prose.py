"""Pages that the site hands to Sphinx keep the rules of docs/prose.yaml, as far as its key ``site`` says."""

from fnmatch import fnmatch

import pytest

from reports.site import cells, dataset_pages, docs, method_pages, pages
from tests.docs.prose import RULES, faults, sentences


@pytest.mark.nightly
def test_pages_keep_the_rules(committed, tmp_path, capsys):
    """About 15 CPU seconds."""
    found = cells.collect(committed)
    every = [
        *pages.documents(committed, found, tmp_path),
        *cells.documents(committed, found),
        *method_pages.documents(committed),
        *dataset_pages.documents(committed),
        *docs.documents({f.id: f.title for f in committed.findings}),
    ]
    wanted = (d for d in every if any(fnmatch(d.path, p) for p in RULES["site"]))
    texts = {d.path: d.text() for d in wanted if f"{d.path}.md" not in RULES["except"]}
    with capsys.disabled():
        print(
            f"\nprose: {sum(len(sentences(t)) for t in texts.values())} sentences in {len(texts)} of {len(every)} pages"
        )
    assert len(texts) > 30
    assert [f for path, text in texts.items() for f in faults(path, text)] == []
