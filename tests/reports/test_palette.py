"""One order and one look of methods: told apart without colour, readable on white, and the same in every figure.

At night it walks all figures of the site (about 40 CPU seconds).
"""

from __future__ import annotations

import html
import re
from functools import cache
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

from methods import contract
from reports import palette, style
from reports.site.__main__ import from_reference

SVG, HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
KINDS = sorted({kind for kind, _ in contract.pairs()})


@pytest.mark.parametrize("kind", KINDS)
def test_methods_of_one_kind_of_model_are_told_apart_without_colour(kind):
    looks = palette.looks(contract.names(kind))
    for (a, first), (b, second) in combinations(looks.items(), 2):
        assert (first.marker, first.dashes) != (second.marker, second.dashes), (a, b)
        assert first != second


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_is_seen_on_white():
    """WCAG 2.1, 1.4.11: 3 to 1 for graphics. White stands behind every figure, on a dark page too."""
    for family in (*palette.FAMILIES.values(), palette.OUTSIDE):
        for colour in family.shades:
            assert 1.05 / (luminance(colour) + 0.05) >= 3, colour


def test_families_are_the_folders_of_the_methods():
    for name in contract.names():
        folder = type(contract.get(name)).__module__.split(".")[1]
        assert palette.family_of(name) == folder, name
    assert set(palette.ALIASES.values()) <= {m for f in palette.FAMILIES.values() for m in f.members}


def test_the_order_is_by_family_and_another_name_has_the_same_look():
    assert palette.ordered(["ridge", "adassp", "dpvi", "ep", "dpvi"]) == ["ep", "dpvi", "adassp", "ridge"]
    assert palette.look("trivial") == palette.look("predict_mean")


def test_a_method_that_is_not_listed_stands_last_with_a_look_of_its_own():
    names = [f"m{k}" for k in range(12)]
    looks = palette.looks([*names, "ridge"])
    assert list(looks) == ["ridge", *sorted(names)]
    assert len({(look.marker, look.dashes) for look in looks.values()}) == 13


def test_a_new_method_keeps_its_look_in_every_figure(monkeypatch):
    """One of this suite's contract that is not listed: the same beside whatever else is drawn."""
    members = dict(palette.FAMILIES["dpvi"].members)
    del members["dpvim"]
    monkeypatch.setitem(palette.FAMILIES, "dpvi", palette.Family(("#009e73",) * 4, "-", members))
    monkeypatch.setattr(palette, "_listed", palette._listed.__wrapped__)
    assert palette.family_of("dpvim") == "dpvi"
    looks = palette.looks(["dpvim", "aaa", "dpvi"])
    assert list(looks) == ["dpvi", "dpvim", "aaa"]
    assert looks["dpvim"] == palette.look("dpvim")
    assert looks["dpvim"].marker not in {marker for marker, _ in members.values()}


def test_a_new_family_and_a_new_method_edit_no_list(monkeypatch):
    """A family without a line of the palette stands after the others; one method more moves no look."""
    families = {f: of for f, of in palette.FAMILIES.items() if f != "dpvi"}
    monkeypatch.setattr(palette, "FAMILIES", families)
    monkeypatch.setattr(palette, "_listed", palette._listed.__wrapped__)
    assert palette.family_of("dpvim") == "dpvi"
    assert palette.ordered(["outside", "dpvim", "ridge", "dpvi"]) == ["ridge", "dpvi", "dpvim", "outside"]
    new = palette.looks(contract.names("bnn_regression"))
    assert len({(look.marker, look.dashes) for look in new.values()}) == len(new)
    assert palette.look("m1") == palette.looks(["a2", "m1"])["m1"]  # their checksums pick different markers
    assert palette.look("a2").colour == palette.looks(["a2", "m1"])["a2"].colour


def shape(path):
    """The letters and numbers of an SVG path, whatever its size."""
    numbers = [float(x) for x in re.findall(r"-?[\d.]+", path)]
    return re.sub(r"[^A-Za-z]", "", path), tuple(round(x / max(map(abs, numbers)), 1) for x in numbers)


def legend_of(svg):
    """(label, colours of its sign, shapes of its markers) of each entry of an SVG's legend; its keywords as
    (method, label)."""
    tree = ET.fromstring(svg, parser=ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))
    words = [e.text for e in tree.iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li")]
    paths = {e.get("id"): e.get("d") for e in tree.iter(f"{SVG}path") if e.get("id")}
    entries, colours, markers = [], set(), set()
    box = next((g for g in tree.iter(f"{SVG}g") if g.get("id") == "legend_1"), None)
    for part in box if box is not None else []:
        label = next((html.unescape(e.text.strip()) for e in part.iter() if e.tag is ET.Comment), None)
        if label is None:
            colours |= set(re.findall(r"(?:stroke|fill): (#[0-9a-f]{6})", ET.tostring(part, encoding="unicode")))
            markers |= {shape(paths[e.get(HREF).removeprefix("#")]) for e in part.iter(f"{SVG}use")}
        else:
            entries.append((label, colours, markers))
            colours, markers = set(), set()
    return entries, [tuple(w.split(": ", 1)) for w in words if ": " in w]


@cache
def marker_of(method):
    """The shape of the marker that the method has today."""
    with style.canvas(1, 1) as (figure, axes):
        axes[0, 0].plot([1], [1], label=method, **palette.look(method).dot())
        style.legend(figure, style.labels(axes), {method: method})
        (((_, _, markers),), _) = legend_of(style.svg(figure))
    (found,) = markers
    return found


def check(name, svg):
    """The legend has its methods first, in the one order, each in its colour and with its marker if it has one. Gives
    their number."""
    entries, told = legend_of(svg)
    methods = {label: method for method, label in told}
    places = [palette.place(methods[label])[:2] for label, *_ in entries if label in methods]
    assert len(places) == len(methods), f"{name}: {set(methods) - {label for label, *_ in entries}} not in its legend"
    assert places == sorted(places), f"{name}: the legend is not in the one order"
    for label, colours, markers in entries:
        if label in methods:
            own = palette.look(methods[label])
            assert own.colour in colours, f"{name}: {label} has {colours} and not {own.colour}"
            assert not markers or marker_of(methods[label]) in markers, (
                f"{name}: {label} has not the marker {own.marker}"
            )
    return len(methods)


def test_a_legend_in_another_order_colour_or_marker_is_found():
    with style.canvas(1, 1) as (figure, axes):
        for method in ("ridge", "ep"):
            axes[0, 0].plot([1], [1], label=method, **palette.look(method).line())
        style.legend(figure, style.labels(axes), {"ridge": "ridge", "ep": "ep"})
        right = style.svg(figure)
    assert check("right", right) == 2
    with style.canvas(1, 1) as (figure, axes):
        for method in ("ridge", "ep"):
            axes[0, 0].plot([1], [1], label=method, color="#112233")
        style.legend(figure, style.labels(axes), {"ridge": "ridge", "ep": "ep"})
        with pytest.raises(AssertionError, match="not #0072b2"):
            check("colour", style.svg(figure))
        for line, method in zip(axes[0, 0].lines, ("ridge", "ep"), strict=True):
            line.set(color=palette.look(method).colour, marker="s")
        figure.legends.clear()
        style.legend(figure, style.labels(axes), {"ridge": "ridge", "ep": "ep"})
        with pytest.raises(AssertionError, match="ep has not the marker o"):
            check("marker", style.svg(figure))
        figure.legends.clear()
        figure.legend(loc="outside lower center")
        with pytest.raises(AssertionError, match="not in the one order"):
            check("order", style.svg(figure))


#: figures without a method in a legend: what their colours are instead.
OTHERWISE = {
    r"common_ranks_\w+|common_\w+_advice": "names on the axis",
    r"common_\w+_coverage": "names on the axis, colours are budgets",
    r"dpsep_uci_rmse|dpsep_uci_clip|dpsep_mixture_errors": "names on the axis, colours are readings",
    r"kl_bound": "bounds",
    r"geumlek2017rdp_figure1": "weights r and m",
    r"nadpvi_\w+_(?:priors|references)|alrawajfeh2024nadpvi_rebuttal_table\d_rmse": "names on the axis",
    r"vinaroz20\d\ddpsep_figure1": "clusters",
    r"jalko2017dpvi_(?:all_cells|abalone_acc_vs_c|adult_acc_vs_\w|single_runs)": "readings of one method",
    r"raisa2021thesis_(?:mmd|acceptance|clipped_ratios)": "published and ours",
    r"chen2025dppf_bias": "budgets of one method",
    r"honkela2018_scores": "published and readings",
    r"honkela2018_updates": "budgets of two methods",
    r"raisa2021thesis_starts": "starts of one method",
}


@pytest.mark.nightly
def test_every_figure_of_the_site_has_the_one_order_and_the_looks(tmp_path):
    from_reference(tmp_path)
    paths = sorted((tmp_path / "figures").glob("*.svg"))
    assert len(paths) > 40
    without = [p.stem for p in paths if not check(p.name, p.read_text(encoding="utf-8"))]
    unknown = [s for s in without if not any(re.fullmatch(p, s) for p in OTHERWISE)]
    assert not unknown, "figures whose legend names no method; say in OTHERWISE what their colours are"
