"""Findings on Jälkö et al. (2017): texts whose every number is read from the committed tables when they are rendered.

``findings/source/<id>.md`` is Markdown with Jinja; ``findings/<id>.md`` is what it renders to, committed beside it
and kept current by a test. What a text may use: ``rows(table, **conditions)``, ``value(table, column, format,
**conditions)`` (one row answers), ``of(table, column, function, format, **conditions)``.
"""

from __future__ import annotations

from pathlib import Path

import jinja2
import pandas as pd

from papers.jalko2017dpvi import run
from papers.jalko2017dpvi.tables import FIGURES, READINGS

HERE = Path(__file__).parent / "findings"


class Reader:
    """Tables of a folder, each read once, as strings."""

    def __init__(self, folder: Path):
        self._folder, self._read = Path(folder), {}

    def table(self, name: str) -> pd.DataFrame:
        if name not in self._read:
            path = next(p for p in (self._folder / f"{name}.csv", self._folder / f"{name}.csv.gz") if p.is_file())
            self._read[name] = pd.read_csv(path, dtype=str, keep_default_na=False)
        return self._read[name]

    def rows(self, name: str, **conditions: str) -> list[dict[str, str]]:
        frame = self.table(name)
        for column, wanted in conditions.items():
            frame = frame[frame[column] == wanted]
        return frame.to_dict("records")

    def value(self, name: str, column: str, form: str = "s", **conditions: str) -> str:
        """Raises ValueError unless one row answers."""
        found = self.rows(name, **conditions)
        if len(found) != 1:
            raise ValueError(f"{name}: {len(found)} rows answer {conditions}")
        return found[0][column] if form == "s" else format(float(found[0][column]), form)

    def of(self, name: str, column: str, function: str, form: str, **conditions: str) -> str:
        """``function`` (min, max, median, mean, sum) of a column over the rows that answer."""
        numbers = pd.Series([float(r[column]) for r in self.rows(name, **conditions)])
        if numbers.empty:
            raise ValueError(f"{name}: no row answers {conditions}")
        return format(float(getattr(numbers, function)()), form)

    def dpvi(self, reading: str, sigma: str) -> str:
        """Our accuracy on a cell of the fourth figure."""
        found = [r for r in self.rows("verdicts", reading=reading, table="sgld_vs_advi_abalone")
                 if abs(run.fields(r["setting"])["sigma"] / float(sigma) - 1) < 1e-4]  # fmt: skip
        if len(found) != 1:
            raise ValueError(f"{len(found)} cells have sigma {sigma}")
        return format(1 - float(found[0]["mean"]), ".3f")


def render(reference: Path, source: Path = HERE / "source") -> dict[str, str]:
    """id -> rendered Markdown."""
    reader = Reader(reference)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["to"] = lambda text, form: format(float(text), form)
    names = {
        "rows": reader.rows, "value": reader.value, "of": reader.of, "READINGS": READINGS, "FIGURES": FIGURES,
        "dpvi": reader.dpvi, "config": run.config(), "family": run.config()["family"],
    }  # fmt: skip
    return {
        path.stem: environment.from_string(path.read_text(encoding="utf-8")).render(**names).rstrip("\n") + "\n"
        for path in sorted(source.glob("*.md"))
    }


def write(reference: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name, text in render(reference).items():
        (out / f"{name}.md").write_text(text, encoding="utf-8")
