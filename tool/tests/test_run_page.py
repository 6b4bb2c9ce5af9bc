# SPDX-License-Identifier: MIT
"""The page of a recorded run in Debian's Chromium: its peak first, moments and ranges by keys and mouse, dark."""

import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect

from conftest import HewRunner
from hew.model.errors import HewError
from hew.sources.library import find_part

PATIENCE = 120_000  # ms


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The page and what the program has counted, once they are there."""
    return {"folder": tmp_path_factory.mktemp("page")}


@pytest.fixture
def made(hew: HewRunner, programs: Callable[[str], list[str]], written: dict[str, Any]) -> tuple[Path, Any]:
    """A page of a run, and the program's own counts."""
    pytest.importorskip("numpy")
    try:
        find_part("libhewtrace.so"), find_part("hew-replay")
    except HewError as error:
        pytest.skip(str(error))
    page = written["folder"] / "run.html"
    if "own" not in written:
        done = hew("record", "--stacks", "all", "-o", str(written["folder"] / "t"), "--", *programs("whole"))
        assert done.returncode == 0, done.stderr
        written["own"] = json.loads(done.stdout)
        done = hew("profile", "--html", str(page), str(written["folder"] / "t"))
        assert done.returncode == 0, done.stderr
    return page, written["own"]


def opened(browser: Browser, path: Path, said: list[str], **looks: Any) -> Page:
    """The page; what goes wrong in it, and what it fetches, goes into a list."""
    expect.set_options(timeout=PATIENCE)
    page = browser.new_page(**looks)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else said.append(request.url))
    page.goto(path.as_uri(), timeout=PATIENCE)
    return page


def overlap(one: FloatRect | None, other: FloatRect | None) -> bool:
    """Whether two texts lie over each other."""
    assert one is not None
    assert other is not None
    beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
    above = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
    return not beside and not above


def function_row(page: Page, name: str) -> str:
    """What the table of functions says of one itself."""
    row = page.locator('[data-at="functions"] tr', has=page.get_by_role("button", name=name, exact=True))
    return row.locator("td").first.inner_text()


def test_a_run_that_frees_nearly_everything_shows_its_peak_first(browser: Browser, made: tuple[Path, Any]) -> None:
    said: list[str] = []
    path, own = made
    page = opened(browser, path, said)
    objects = own["peak"][0]
    expect(page.locator("#moment")).to_contain_text(f"the peak: 58.5 MiB live in {objects:,} objects")
    assert function_row(page, "peak_here") == "54.4 MiB"
    assert page.locator("#legend li").first.inner_text().split() == ["peak_here", "54.4", "MiB"]
    sizes = page.locator("#sizes tr").all_inner_texts()
    assert any(re.search(r"524,288 to 1,048,575\s+57\s+54\.4 MiB", row) for row in sizes)
    assert said == []


def test_keys_and_buttons_choose_a_moment_or_a_range(browser: Browser, made: tuple[Path, Any]) -> None:
    said: list[str] = []
    path, own = made
    page = opened(browser, path, said)
    page.click("#to-end")
    expect(page.locator("#moment")).to_contain_text("the end: 977 KiB live in 1,000 objects")
    assert function_row(page, "leaks_here") == "977 KiB"
    made_in_all = sum(one[0] for one in own["at_end"].values())
    expect(page.locator("#moment")).to_contain_text(f"{made_in_all:,} allocations so far")
    page.focus("#chart")
    page.keyboard.press("p")
    expect(page.locator("#chart")).to_have_attribute("aria-valuetext", re.compile("the peak"))
    page.keyboard.press("Shift+End")
    expect(page.locator("#moment")).to_contain_text(re.compile(r"−57\.6 MiB live, 301,\d{3} allocations"))
    expect(page.locator('[data-at="grown"]')).to_contain_text("leaks_here")
    page.keyboard.press("Escape")
    expect(page.locator("#moment")).to_contain_text("the end")
    page.click("#invert")
    expect(page.locator("#invert")).to_have_attribute("aria-pressed", "true")
    expect(page.locator('[data-at="graph"] .frame').nth(1)).to_have_text("leaks_here")
    assert said == []


def test_the_mouse_chooses_a_moment_and_a_range(browser: Browser, made: tuple[Path, Any]) -> None:
    said: list[str] = []
    page = opened(browser, made[0], said)
    box = page.locator("#chart").bounding_box()
    assert box is not None
    left, middle = box["x"] + 5, box["y"] + box["height"] / 2
    page.mouse.click(left, middle)
    expect(page.locator("#moment")).not_to_contain_text("the peak")
    page.mouse.move(left, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, middle, steps=4)
    page.mouse.up()
    expect(page.locator("#moment")).to_contain_text(" to ")
    expect(page.locator("#chart rect.range")).to_have_count(1)
    assert said == []


def test_another_process_of_the_recording_is_chosen_in_the_page(
    browser: Browser, hew: HewRunner, programs: Callable[[str], list[str]], tmp_path: Path
) -> None:
    pytest.importorskip("numpy")
    said: list[str] = []
    words = [*programs("forks"), *programs("whole")]
    assert hew("record", "--stacks", "all", "-o", str(tmp_path / "t"), "--", *words).returncode == 0
    assert hew("profile", "--html", str(tmp_path / "run.html"), str(tmp_path / "t")).returncode == 0
    page = opened(browser, tmp_path / "run.html", said)
    titles = page.locator("#process option").all_inner_texts()
    assert [title.split()[0] for title in titles] == ["whole", "forks", "forks"]
    expect(page.locator("#summary")).to_contain_text("whole: ")
    page.locator("#process").select_option("1")
    expect(page.locator("#summary")).to_contain_text("forks: ")
    page.click("#to-end")
    assert function_row(page, "parent_here") == "1.43 MiB"
    page.locator("#process").select_option("0")
    expect(page.locator("#moment")).to_contain_text("the peak: 58.5 MiB live")
    assert said == []


def test_the_page_of_a_sample_says_the_interval(
    browser: Browser, hew: HewRunner, programs: Callable[[str], list[str]], tmp_path: Path
) -> None:
    pytest.importorskip("numpy")
    said: list[str] = []
    words = ("record", "--sample", "64K", "-o", str(tmp_path / "t"), "--", *programs("whole"))
    assert hew(*words, HEW_TRACE_SEED="1").returncode == 0
    assert hew("profile", "--html", str(tmp_path / "run.html"), str(tmp_path / "t")).returncode == 0
    page = opened(browser, tmp_path / "run.html", said)
    expect(page.locator("#moment")).to_contain_text(re.compile(r"the peak: [\d.]+ MiB ± [\d.]+ MiB live"))
    expect(page.locator("#notes")).to_contain_text("a sample, one byte in 64.0 KiB")
    assert re.fullmatch(r"[\d.]+ MiB ± [\d.]+ MiB", function_row(page, "peak_here"))
    expect(page.locator('[data-at="told"]')).to_contain_text(re.compile(r"MiB ± [\d.]+ MiB live bytes"))
    expect(page.locator("#choice")).to_be_hidden()
    assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [800, 1400])
def test_it_fits_a_window_of_any_width_in_light_and_dark(
    browser: Browser, made: tuple[Path, Any], width: int, scheme: str
) -> None:
    said: list[str] = []
    page = opened(browser, made[0], said, viewport={"width": width, "height": 900}, color_scheme=scheme)
    expect(page.locator("#legend li").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tables = page.locator(".run-tables .scroll")
    assert all(one.evaluate("it => it.scrollWidth <= it.clientWidth") for one in tables.all())
    boxes = [one.bounding_box() for one in page.locator("#chart text").all()]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    assert said == []
