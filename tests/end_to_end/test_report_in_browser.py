"""The report in a real headless Chromium: screen, phone and paper."""

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
NOT_STUDIES = {"scenes", "published", "provenance"}
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
    """A shadow marks the side beyond which a table goes on; title and first column stay."""
    page.set_viewport_size({"width": width, "height": 900})
    boxes = page.query_selector_all(".table")
    wide = max(boxes, key=lambda box: box.evaluate("e => e.scrollWidth - e.clientWidth"))
    wide.evaluate("e => { e.style.maxWidth = '20rem'; e.scrollLeft = 0; }")

    def right_edge() -> int:
        """Return the darkest grey of the right column beside the last row's line."""
        picture = Image.open(io.BytesIO(wide.screenshot())).convert("L")
        band = range(picture.height - 12, picture.height - 4)
        return min(picture.getpixel((picture.width - 2, y)) for y in band)

    assert right_edge() < 255
    wide.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("e => e.scrollLeft > 0", arg=wide)
    wide.evaluate("e => { e.scrollLeft = 1e6; }")
    assert right_edge() == 255
    box = wide.bounding_box()
    for part in ("caption", "tbody td:first-child"):
        shown = wide.query_selector(part).bounding_box()
        assert abs(shown["x"] - box["x"]) <= 1, part
        assert shown["x"] + shown["width"] <= box["x"] + box["width"] + 1, part
    assert wide.get_attribute("role") == "region"
    assert wide.get_attribute("aria-label")
    wide.evaluate("e => { e.style.maxWidth = ''; e.scrollLeft = 0; }")


def test_long_tables_say_what_they_fold(page: Any) -> None:
    """A folded table says how many rows there are and shows them when asked; none is cut."""
    cut = "e => getComputedStyle(e).overflowY !== 'visible' && e.scrollHeight > e.clientHeight + 2"
    assert not any(box.evaluate(cut) for box in page.query_selector_all(".table"))
    button = page.query_selector("button.more")
    table = page.query_selector(f"#{button.get_attribute('aria-controls')}")
    shown = "t => [...t.querySelectorAll('tbody tr')].filter(r => r.offsetParent).length"
    total = table.evaluate("t => t.querySelectorAll('tbody tr').length")
    few = table.evaluate(shown)
    assert few < total
    assert f"{few} of {total} rows" in button.inner_text()
    button.focus()
    page.keyboard.press("Enter")
    assert table.evaluate(shown) == total
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert table.evaluate(shown) == few


@pytest.mark.parametrize(("width", "open_"), [(1280, True), (390, False)])
def test_contents_do_not_stand_before_the_summary(page: Any, width: int, open_: bool) -> None:
    """The contents are open beside the text on a laptop, closed below the summary on a phone."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function(f"document.querySelector('nav details').open === {str(open_).lower()}")
    summary = page.query_selector("#summary").bounding_box()
    contents = page.query_selector("nav").bounding_box()
    if open_:
        assert contents["x"] + contents["width"] <= summary["x"]
    else:
        assert contents["y"] >= summary["y"] + summary["height"]


def test_figures_stay_readable_on_a_phone(page: Any) -> None:
    """On a phone a figure keeps its own size, scrolls inside its frame and links to its file."""
    page.set_viewport_size({"width": 390, "height": 900})
    for frame in page.query_selector_all(".picture"):
        image = frame.query_selector("img")
        image.scroll_into_view_if_needed()
        page.wait_for_function("i => i.complete && i.naturalWidth > 0", arg=image)
        assert image.bounding_box()["width"] >= 400
        assert frame.evaluate("e => getComputedStyle(e).overflowX") == "auto"
        assert frame.get_attribute("href").startswith("figures/")


def test_print_fits_the_page(page: Any) -> None:
    """Printed on A4, no cell and no picture passes the edge, and no row is left out."""
    width = 703  # A4 less its margins, in CSS pixels
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(media="print")
    beyond = page.evaluate(
        """() => [...document.querySelectorAll("td, th, caption, img, pre, code")]
        .filter((e) => e.offsetParent)
        .filter((e) => e.getBoundingClientRect().left + Math.max(e.scrollWidth, e.clientWidth)
            > document.documentElement.clientWidth + 2)
        .map((e) => e.closest("section").id + ": " + e.textContent)"""
    )
    rows = page.evaluate("[...document.querySelectorAll('tr')].every((r) => r.offsetHeight > 0)")
    page.emulate_media(media="screen")
    assert beyond == []
    assert rows


def test_heads_stand_above_their_numbers(page: Any) -> None:
    """The head of a column of numbers is aligned as the numbers are."""
    page.set_viewport_size({"width": 1280, "height": 900})
    differing = page.evaluate(
        """() => [...document.querySelectorAll("table.sortable")].flatMap((t) =>
        [...t.tHead.rows[0].cells].filter((head, i) => getComputedStyle(head).textAlign
            !== getComputedStyle(t.tBodies[0].rows[0].cells[i]).textAlign))
        .map((head) => head.textContent)"""
    )
    assert differing == []


def test_the_verdict_is_in_view(page: Any) -> None:
    """At laptop width the verdict of every published figure is on screen without scrolling."""
    page.set_viewport_size({"width": 1366, "height": 900})
    head = page.query_selector("#table-published th:nth-child(2)")
    assert head.inner_text() == "verdict"
    box = head.bounding_box()
    assert box["x"] + box["width"] < 1366


def test_every_study_has_a_table_and_a_figure(page: Any) -> None:
    """Each study shows at least one figure, one table and how to read them."""
    sections = page.query_selector_all(".body > section")
    studies = [s for s in sections if s.get_attribute("id") not in NOT_STUDIES]
    assert len(studies) > 20
    for study in studies:
        for part in ("figure img", "table.sortable", ".reading"):
            assert study.query_selector(part), (study.get_attribute("id"), part)


def test_links_lead_to_files_of_the_run(page: Any, finished_run: Path) -> None:
    """Every relative link leads to a file beside the page, the decisions of each rule included."""
    links = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    files = {link for link in links if not link.startswith("#")}
    assert "decisions/pact.parquet" in files
    assert [link for link in files if not (finished_run / link).is_file()] == []


def test_self_contained(finished_run: Path) -> None:
    """The page refers to nothing outside its folder."""
    text = (finished_run / "report.html").read_text(encoding="utf-8")
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
