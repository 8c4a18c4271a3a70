"""Writes the skeleton of something new, which runs and passes the tests as it is.

./bench new paper KEY        papers/KEY/ and tests/papers/KEY/; KEY is its bibliography key, such as park2017dpem
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from workflow.files import write_text
from workflow.imports import ROOT

#: file below papers/KEY -> text; @KEY@ stands for the key.
PAPER = {
    "__init__.py": '''"""@KEY@: authors, year, title."""

from workflow.papers import Paper

PAPER = Paper(
    key="@KEY@",
    title="@KEY@",
    sources={"@KEY@": "Authors year"},  # as tables head its numbers
)
''',
    # one cheap cell, so that everything runs before the paper's own cells stand here
    "experiments/@KEY@.yaml": """experiment: @KEY@
title: "@KEY@"
sources: [@KEY@]
model: {kind: bnn_regression, hidden: 50}
datasets: [wine]
protocols:
  literature: {splits: 20, title: random splits 90/10}
arms:
  - {method: ridge, protocols: [literature]}
scales:
  full: {}
  quick: {splits: 2}
  tiny: {splits: 1}
answers: []   # a published cell of published.csv -> the cell of ours that answers it
""",
    "published.csv": "source,table,dataset,method,setting,metric,mean,std,n_runs\n",
    "annotations.csv": "source,table,dataset,method,setting,metric,digits,n_published,std_kind,same_as,note\n",
    "claims.py": '''"""What @KEY@ says in words, as tests of our scores."""

SOURCE = "@KEY@"

CLAIMS = ()
''',
}
TEST = '''"""The folder of @KEY@ is found, and its experiment has cells."""

from papers.@KEY@ import PAPER
from workflow.experiments import cells
from workflow.papers import papers


def test_it_is_one_of_the_papers():
    assert PAPER in papers()


def test_its_experiments_have_cells_at_every_scale():
    assert PAPER.experiments
    for path in PAPER.experiments.values():
        for scale in ("full", "quick", "tiny"):
            assert cells(path, scale)
'''


def paper(key: str, root: Path = ROOT) -> list[Path]:
    """The folder of a paper and its test. Raises ValueError for a key that cannot name a module or is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
        raise ValueError(f"'{key}': a key has small letters, digits and underscores, and begins with a letter")
    home, tests = root / "papers" / key, root / "tests" / "papers" / key
    if home.exists() or tests.exists():
        raise ValueError(f"papers/{key} or tests/papers/{key} is there")
    made = {home / name: text for name, text in PAPER.items()} | {tests / "test_paper.py": TEST}
    written = []
    for path, text in made.items():
        path = path.with_name(path.name.replace("@KEY@", key))
        write_text(path, text.replace("@KEY@", key))
        written.append(path)
    return written


#: what ``new`` can make: word -> maker, called with the name; it gives the files it has written.
MAKERS: dict[str, Callable[[str], list[Path]]] = {"paper": paper}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(MAKERS))
    parser.add_argument("name")
    args = parser.parse_args(argv)
    try:
        written = MAKERS[args.what](args.name)
    except ValueError as e:
        parser.error(str(e))
    for path in written:
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
