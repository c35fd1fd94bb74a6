"""The report in a real headless Chromium: no console errors, images load, tables sort."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; install Debian's `chromium` package"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="module")
def page(finished_run: Path) -> Iterator[Any]:
    """Open the report with the network off and gather what the console says."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tab.problems = []
        tab.on("console", lambda m: tab.problems.append(m.text) if m.type == "error" else None)
        tab.on("pageerror", lambda error: tab.problems.append(str(error)))
        tab.goto((finished_run / "report.html").as_uri())
        yield tab
        browser.close()


def test_no_errors_and_images_load(page: Any) -> None:
    """The console stays empty and every picture has a size and a description."""
    for image in page.query_selector_all("img"):
        image.scroll_into_view_if_needed()
        page.wait_for_function("i => i.complete && i.naturalWidth > 0", arg=image)
        assert image.get_attribute("alt")
    assert page.problems == []


def test_anchors_lead_to_sections(page: Any) -> None:
    """Every entry of the contents leads to a section of the page."""
    links = page.eval_on_selector_all("nav a", "all => all.map(a => a.getAttribute('href'))")
    assert len(links) > 5
    for link in links:
        assert page.query_selector(f"section{link}") is not None, link


def test_tables_sort(page: Any) -> None:
    """Activating a column head with the keyboard sorts the table, again reverses it."""
    table = page.query_selector("table.sortable:has(td.number)")
    column = table.evaluate("t => [...t.tBodies[0].rows[0].cells].findIndex(c => c.dataset.value)")
    button = table.query_selector_all("thead button")[column]
    read = (
        "(t, c) => [...t.tBodies[0].rows].map(r => r.cells[c].dataset.value)"
        ".filter(v => v !== undefined).map(Number)"
    )
    read_values = f"(t) => ({read})(t, {column})"
    button.focus()
    page.keyboard.press("Enter")
    ascending = table.evaluate(read_values)
    page.keyboard.press("Enter")
    assert ascending == sorted(ascending)
    assert table.evaluate(read_values) == sorted(ascending, reverse=True)


@pytest.mark.parametrize("width", [1280, 390])
def test_fits_the_width(page: Any, width: int) -> None:
    """At laptop and phone width the page itself does not scroll sideways."""
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_wide_tables_show_that_they_go_on(page: Any, width: int) -> None:
    """A shadow marks the side beyond which a table goes on; its title stays; keys scroll it."""
    page.set_viewport_size({"width": width, "height": 900})
    boxes = page.query_selector_all(".table")
    wide = next(b for b in boxes if b.evaluate("e => e.scrollWidth > e.clientWidth + 150"))

    def edges() -> tuple[int, int]:
        """Return the darkest grey of the left and right columns beside the last row's line."""
        picture = Image.open(io.BytesIO(wide.screenshot())).convert("L")
        band = range(picture.height - 12, picture.height - 4)
        left, right = (1, picture.width - 2)
        return tuple(min(picture.getpixel((x, y)) for y in band) for x in (left, right))

    wide.evaluate("e => { e.scrollLeft = 0; e.scrollTop = 1e6; }")
    left, right = edges()
    assert left == 255 > right
    wide.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("e => e.scrollLeft > 0", arg=wide)
    wide.evaluate("e => { e.scrollLeft = 1e6; e.scrollTop = 1e6; }")
    left, right = edges()
    assert right == 255 > left
    box, title = wide.bounding_box(), wide.query_selector("caption").bounding_box()
    assert box["x"] - 1 <= title["x"]
    assert title["x"] + title["width"] <= box["x"] + box["width"] + 1
    assert wide.get_attribute("role") == "region"
    assert wide.get_attribute("aria-label")


def test_self_contained(finished_run: Path) -> None:
    """The page refers to nothing outside its folder."""
    text = (finished_run / "report.html").read_text(encoding="utf-8")
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
