"""Each test of a paper's folder first checks the paper's files as a run does when it is planned."""

from functools import cache

import pytest

from workflow import experiments, papers


@cache
def check(key: str) -> None:
    paper = next(p for p in papers.papers() if p.key == key)
    experiments.check_published([paper])
    for path in paper.experiments.values():
        experiments.cells(path, "full")


@pytest.fixture(autouse=True)
def files_of_the_paper_are_whole(request):
    check(request.path.parent.name)
