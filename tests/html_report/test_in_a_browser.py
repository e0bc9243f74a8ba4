"""The page in Chromium: nothing is loaded or complained of, keys reach everything, pictures are drawn."""
from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.html_report.browser import CHROMIUM, Browser
from tests.html_report.models import HOSTILE, blocks, hostile, varied
from tflfuse.html_report import render
from tflfuse.ir import Array
from tflfuse.pipeline import fuse
from tflfuse.proof import fuse_and_prove

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
CHART = "document.getElementById('arena-before')"
SAYS = f"{CHART}.querySelector('.says').textContent"
WIDE, NARROW = 1200, 400


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    texts = {"small": render(fuse_and_prove(varied(), runs=1), "small.tflite"),
             "large": render(fuse(blocks(40)), "large.tflite"), "hostile": render(fuse(hostile()), HOSTILE)}
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    return {name: folder / f"{name}.html" for name in texts}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def pixels(browser: Browser) -> Array:
    """uint8 [height][width][3]"""
    return np.asarray(Image.open(io.BytesIO(browser.screenshot())).convert("RGB"))


@pytest.mark.parametrize("name", ["small", "large", "hostile"])
def test_it_loads_nothing_else_and_nothing_is_complained_of(browser: Browser, pages: dict[str, Path],
                                                            name: str) -> None:
    browser.open(pages[name])
    assert browser.requests() == [pages[name].as_uri()]
    assert browser.complaints() == []
    title = HOSTILE if name == "hostile" else f"{name}.tflite"
    assert browser.evaluate("document.title") == f"{title}: what tflfuse did"


def test_what_a_model_could_slip_in_would_not_run(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """Were something not escaped, the page's policy would still stop it."""
    page = tmp_path / "slipped.html"
    slipped = "<script>document.title='taken'</script><img src='https://example.org/x.png' onerror='document.title=1'>"
    page.write_text(pages["small"].read_text("utf-8").replace("<main ", slipped + "<main "), "utf-8")
    browser.open(page)
    assert browser.evaluate("document.title") == "small.tflite: what tflfuse did"
    assert any("Content Security Policy" in told for told in browser.complaints())


@pytest.mark.parametrize("scheme, light", [("light", True), ("dark", False)])
@pytest.mark.parametrize("name", ["small", "large"])
def test_the_picture_is_drawn_on_a_ground_of_the_readers_choice(browser: Browser, pages: dict[str, Path], name: str,
                                                                scheme: str, light: bool) -> None:
    browser.open(pages[name], WIDE, scheme=scheme)
    browser.evaluate(f"{CHART}.scrollIntoView({{behavior: 'instant'}})")
    seen = pixels(browser)
    assert (seen[0, 0].min() > 200) == light
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 20
    box = browser.evaluate(f"{CHART}.querySelector('.field').getBoundingClientRect().toJSON()")
    top, left = (int(box[n]) for n in ("top", "left"))
    field = seen[top:top + int(box["height"]), left:left + int(box["width"])]
    inner = browser.evaluate(f"getComputedStyle({CHART}.querySelector('.band.inner rect')).fill")
    colour = np.array([int(n) for n in re.findall(r"\d+", inner)])
    bands = np.abs(field.astype(int) - colour).sum(axis=2) < 90
    assert 0.01 < bands.mean() < 0.9


@pytest.mark.parametrize("name", ["small", "large"])
def test_a_narrow_window_needs_no_scrolling_sideways(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.open(pages[name], NARROW)
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= NARROW
    assert len(np.unique(pixels(browser).reshape(-1, 3), axis=0)) > 20


def test_text_stands_out_from_its_ground(browser: Browser, pages: dict[str, Path]) -> None:
    """4.5 to 1 and more, the ratio of WCAG 2.2, 1.4.3."""
    pairs = [("--ink", "--page"), ("--ink", "--card"), ("--quiet", "--page"), ("--quiet", "--card"),
             ("--link", "--page"), ("--link", "--card"), ("--peak", "--page"), ("--good", "--good-ground"),
             ("--warn", "--warn-ground")]
    for scheme in ("light", "dark"):
        browser.open(pages["small"], scheme=scheme)
        for text, ground in pairs:
            assert contrast(colour(browser, text), colour(browser, ground)) >= 4.5, (scheme, text, ground)
        for fill in ("--input", "--output", "--inner", "--scratch"):
            assert contrast(np.array([255, 255, 255]), colour(browser, fill)) >= 4.5, (scheme, fill)
            assert contrast(colour(browser, "--page"), colour(browser, fill)) >= 3, (scheme, fill)


def colour(browser: Browser, name: str) -> Array:
    """[red, green, blue] of a variable of the style."""
    value = browser.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{name}')")
    text = value.strip().lstrip("#")
    text = "".join(c * 2 for c in text) if len(text) == 3 else text
    return np.array([int(text[i:i + 2], 16) for i in (0, 2, 4)])


def contrast(a: Array, b: Array) -> float:
    """As WCAG defines it."""
    def luminance(rgb: Array) -> float:
        part = rgb / 255
        linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        return float(linear @ np.array([0.2126, 0.7152, 0.0722]))

    dark, bright = sorted((luminance(a), luminance(b)))
    return (bright + 0.05) / (dark + 0.05)


def test_the_first_key_leads_past_the_header(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["small"])
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.className") == "skip"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    browser.press("Enter")
    assert browser.evaluate("document.activeElement.id") == "content"


def test_arrow_keys_move_from_buffer_to_buffer(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["small"])
    told = browser.evaluate(f"[...{CHART}.querySelectorAll('.band title')].map(t => t.textContent)")
    rest = browser.evaluate(SAYS)
    browser.evaluate(f"{CHART}.querySelector('.band').focus()")
    assert browser.evaluate(SAYS) == told[0]
    for key, number in (("ArrowRight", 1), ("ArrowLeft", 0), ("End", len(told) - 1), ("ArrowRight", len(told) - 1),
                        ("Home", 0), ("ArrowLeft", 0)):
        browser.press(key)
        assert browser.evaluate(SAYS) == told[number], key
    assert browser.evaluate(f"{CHART}.querySelectorAll('.band[tabindex=\"0\"]').length") == 1
    browser.press("Tab")
    assert browser.evaluate(SAYS) == rest


def test_a_buffer_leads_to_its_row_of_the_table(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["small"])
    browser.evaluate(f"{CHART}.querySelectorAll('.band')[2].focus()")
    told = browser.evaluate(SAYS)
    browser.press("Enter")
    assert browser.evaluate("document.querySelector(':target').closest('details').open")
    assert told.startswith(browser.evaluate("document.querySelector(':target th').textContent"))


def test_pointing_at_a_buffer_says_what_it_is(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["small"])
    box = browser.evaluate(f"({CHART}.scrollIntoView({{behavior: 'instant'}}),"
                           f"{CHART}.querySelector('.band').getBoundingClientRect().toJSON())")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["x"] + box["width"] / 4,
                 y=box["y"] + box["height"] / 2)
    assert browser.evaluate(SAYS) == browser.evaluate(f"{CHART}.querySelector('.band title').textContent")


def test_all_of_it_is_printed(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["small"])
    assert not browser.evaluate("document.getElementById('buffers-after').open")
    printed = browser.pdf()
    assert printed.startswith(b"%PDF-") and len(re.findall(rb"/Type\s*/Page\b", printed)) >= 4
    assert not browser.evaluate("document.getElementById('buffers-after').open"), "it stays open after printing"
