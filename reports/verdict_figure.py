"""README's figure: per source, a bar of our verdicts, and below it a thinner bar of a perfect copy's (the ceiling).

It is an SVG of plain text and rectangles, with a few kilobytes. It is 400 units wide, so that its letters are legible
on a phone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

#: verdict -> word, sign, colour of the bar, colour of its text. All except the last are as on the site.
WORDS = {
    "reproduced": ("reproduced", "=", "#0b6b3a", "#ffffff"),
    "compatible": ("compatible", "≈", "#00548a", "#ffffff"),
    "inconclusive": ("inconclusive", "?", "#6e6e6e", "#ffffff"),
    "refuted": ("refuted", "≠", "#a3300a", "#ffffff"),
    "no_score": ("no score", "∅", "#d0d0d0", "#1a1a1a"),
}
WIDTH, LEFT, BAR, COPY, STEP, TOP = 400, 8, 18, 6, 58, 50
INK, FONT = "#1a1a1a", 12
#: smallest width of a piece of a bar that shows its count, per letter and at the sides.
LETTER, SIDES = 7.5, 2.0


def svg(board: Sequence[Mapping[str, Any]]) -> str:
    """The figure. ``board``: a row per source with ``title``, ``numbers``, counts of ``WORDS`` and ``copy_<word>``."""
    height = TOP + STEP * len(board) + 22
    said = "; ".join(
        f"{row['title']}: " + ", ".join(f"{row[w]} {WORDS[w][0]}" for w in WORDS if row[w]) for row in board
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{1.6 * WIDTH:.0f}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="{FONT}" fill="{INK}">',
        "<title>Verdicts on published numbers, by source</title>",
        f"<desc>{escape(said)}</desc>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *legend(),
    ]
    for k, row in enumerate(board):
        y = TOP + STEP * k
        lines.append(f'<text x="{LEFT}" y="{y + 12}" font-weight="bold">{escape(row["title"])}</text>')
        lines.append(f'<text x="{WIDTH - LEFT}" y="{y + 12}" text-anchor="end">{row["numbers"]:,} numbers</text>')
        lines += pieces([row[w] for w in WORDS], y + 17, BAR, True)
        lines += pieces([row[f"copy_{w}"] if w != "no_score" else row[w] for w in WORDS], y + 37, COPY, False)
    note = "thick: our runs; thin: a perfect copy of our implementation (the ceiling)"
    lines.append(f'<text x="{LEFT}" y="{height - 9}" font-size="11">{note}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def legend() -> Iterator[str]:
    """Two lines of signs and words."""
    for k, (word, sign, colour, ink) in enumerate(WORDS.values()):
        x, y = LEFT + 128 * (k % 3), 6 + 18 * (k // 3)
        yield f'<rect x="{x}" y="{y}" width="16" height="14" fill="{colour}"/>'
        yield f'<text x="{x + 8}" y="{y + 11}" text-anchor="middle" fill="{ink}">{sign}</text>'
        yield f'<text x="{x + 21}" y="{y + 11}">{word}</text>'


def pieces(counts: Sequence[float], y: float, height: float, written: bool) -> Iterator[str]:
    """One bar over the whole width, in the order of ``WORDS``. ``written``: with the counts that fit."""
    x, scale = float(LEFT), (WIDTH - 2 * LEFT) / sum(counts)
    for count, (_, sign, colour, ink) in zip(counts, WORDS.values(), strict=True):
        width = scale * count
        if width > 0.05:
            yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" fill="{colour}"/>'
        fits = (t for t in (f"{sign} {count:,.0f}", f"{count:,.0f}") if width > LETTER * len(t) + SIDES)
        if written and (text := next(fits, "")):
            yield f'<text x="{x + width / 2:.1f}" y="{y + 13}" text-anchor="middle" fill="{ink}">{text}</text>'
        x += width
