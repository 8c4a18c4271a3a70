"""The site in headless Chromium, where there is one: no console error, no sideways scroll on a phone, axe-core."""

from __future__ import annotations

import shutil

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: rows with strips, figures of a paper that judges itself, equations on two lines, advice.
HOUSED = ("housed:cells/someone", "housed:papers/someone", "housed:methods/bayes_by_backprop", "housed:which-method/t",
          "housed:which-method/t-details")  # fmt: skip
NAMES = ("index", "papers/vinaroz2023dpsep", "cells/vinaroz2023dpsep", "methods/dp_sep", "datasets/wine", "glossary",
         "privacy", "checked", "search", *HOUSED)  # fmt: skip
#: cells of tables that are about one letter wide, and have more than one short number.
NARROW = """[...document.querySelectorAll("td, th")].map(c => [c.innerText.trim(), c.clientWidth])
    .filter(([text, width]) => text.length > 5 && width > 0 && width < 40)"""
#: of axe-core, what keeps somebody from reading.
FAULTS = ("serious", "critical")


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        pytest.skip("no Chromium here: install the Debian package chromium")
    api = pytest.importorskip("playwright.sync_api", reason="no playwright here: pip install '.[browser]'")
    with api.sync_playwright() as started:
        made = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def site(built):
    return built / "results" / "report"


def visit(browser, address, width=1280, **options):
    """(page, what the console said, what was asked for outside of the disk)."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page, said, outside = context.new_page(), [], []
    page.set_default_timeout(900_000)
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: said.append(str(e)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else outside.append(r.url))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return page, said, outside


def at(request, name):
    """Folder and page of an address; ``housed:`` is the site of a paper that judges its own numbers."""
    which, _, rest = name.rpartition(":")
    return request.getfixturevalue(which or "site"), rest


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_no_error_and_no_sideways_scroll(request, browser, name, width, scheme):
    site, name = at(request, name)
    page, said, outside = visit(browser, f"file://{site}/{name}.html", width, color_scheme=scheme)
    assert said == []
    assert outside == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(NARROW) == []
    page.context.close()


def test_an_equation_is_read_as_mathml(browser, site):
    """It has a size, so it is drawn, and a wide one scrolls inside of its own box."""
    page, _, _ = visit(browser, f"file://{site}/methods/dp_sep.html", width=390)
    formula = page.locator("div.equation math").first
    assert formula.bounding_box()["height"] > 20
    assert page.evaluate("document.querySelector('math').namespaceURI").endswith("MathML")
    assert page.locator("script[src*=mathjax i]").count() == 0
    page.context.close()


def test_a_printed_number_leads_to_its_cell(browser, site):
    page, said, _ = visit(browser, f"file://{site}/search.html?q=0.627+wine")
    link = page.locator(".found-cells a").first
    link.wait_for()
    link.click()
    page.wait_for_load_state("networkidle")
    assert "cells/vinaroz2023dpsep.html#" in page.url
    assert page.locator("details.cell:target").get_attribute("open") is not None
    assert "0.627" in page.locator("details.cell:target summary").inner_text()
    assert said == []
    page.context.close()


def test_the_front_page_says_what_was_recomputed_here(browser, site):
    row = '{cell: "c", verdict: "equal", committed: "1", here: "1"}'
    text = f'window.dpbayesChecked = {{sentence: "1 of 1 <b>agree", rows: [{row}]}};'
    (site / "checked.js").write_text(text)
    page, said, _ = visit(browser, f"file://{site}/index.html")
    assert "1 of 1 <b>agree" in page.locator("#checked").inner_text()
    page.goto(f"file://{site}/checked.html")
    assert "= equal" in page.locator("#checked-rows").inner_text()
    assert said == []
    page.context.close()


AXE = ("index", "papers/vinaroz2023dpsep", "cells/vinaroz2023dpsep", "methods/dp_sep", *HOUSED)


@pytest.mark.parametrize("name", AXE)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(request, browser, name, scheme):
    site, name = at(request, name)
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core: pip install '.[browser]'")
    page, _, _ = visit(browser, f"file://{site}/{name}.html", color_scheme=scheme)
    found = axe.Axe().run(page).response["violations"]
    bad = [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in FAULTS]
    assert bad == []
    page.context.close()
