#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Take the pictures of the page of a whole run: docs/img/run_NAME.png.

    .venv/bin/python scripts/gen_run_pictures.py [NAME...]
    .venv/bin/python scripts/gen_run_pictures.py --look FOLDER    # each page at 800 and 1,400 pixels, light and dark

Records three small programs, makes their pages, and opens them in Chromium. Look at each picture before it is
committed. Needs a release build, g++, chromium, and .venv. scripts/gen_pictures.py draws the pictures of text.
"""

import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from recorder_cost import HEW, cases

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs/img"
PROGRAMS = ROOT / "tool/tests/programs"
WIDTHS = (800, 1400)
SCHEMES = ("light", "dark")


def compiled(name: str, folder: Path) -> Path:
    """A program of the tests."""
    flags = ("-O1", "-fno-builtin", "-pthread")
    subprocess.run(["cc", *flags, "-o", folder / name, PROGRAMS / f"{name}.c"], check=True)
    return folder / name


def recorded(folder: Path, name: str, how: list[str], command: list[str | Path]) -> Path:
    """The page of a command's run."""
    trace, page = folder / f"{name}.trace", folder / f"{name}.html"
    subprocess.run([*HEW, "record", *how, "-o", trace, "--", *command], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*HEW, "profile", "--html", page, trace], check=True)
    return page


def pages_in(folder: Path) -> dict[str, Path]:
    """Of a run, of a sample, and of a recording of several processes."""
    whole, forks = compiled("whole", folder), compiled("forks", folder)
    return {
        "run": recorded(folder, "run", ["--stacks", "all"], list(cases(folder).words)),
        "sample": recorded(folder, "sample", ["--sample", "64K"], [whole]),
        "processes": recorded(folder, "processes", ["--stacks", "all"], [forks, whole]),
    }


def at_the_peak(_: Page) -> None:
    """What the page shows first."""


def in_a_range(page: Page) -> None:
    """The first fifth of the run, by the mouse."""
    box = page.locator("#chart").bounding_box()
    if box is not None:
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + 2, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 5, middle, steps=4)
        page.mouse.up()


def at_the_end(page: Page) -> None:
    """What was never freed, upside down."""
    page.click("#to-end")
    page.click("#invert")


def what_was_temporary(page: Page) -> None:
    """At the end of the run."""
    page.click("#to-end")
    page.get_by_role("radio", name="temporary allocations").click()


def another_process(page: Page) -> None:
    """The process that has forked the others."""
    page.select_option("#process", "1")
    page.click("#to-end")


class Picture:
    """Which page, what is done in it, and how it looks."""

    def __init__(self, page: str, does: Callable[[Page], None], height: int, scheme: str = "light") -> None:
        self.page, self.does, self.height, self.scheme = page, does, height, scheme


TAKEN = {
    "peak": Picture("run", at_the_peak, 1180),
    "range": Picture("run", in_a_range, 1180),
    "leaks": Picture("run", at_the_end, 1180),
    "temporary": Picture("run", what_was_temporary, 1180, "dark"),
    "sample": Picture("sample", at_the_peak, 900),
    "processes": Picture("processes", another_process, 900),
}


def opened(browser: Browser, path: Path, width: int, height: int, scheme: str) -> Page:
    """The page, once it is drawn."""
    looks = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = looks.new_page()
    page.goto(path.as_uri(), timeout=120_000)
    page.wait_for_selector("#chart polygon", timeout=120_000)
    return page


def main() -> int:
    """Takes the named pictures, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *TAKEN])
    parser.add_argument("--look", type=Path, help="a folder for pictures of the whole pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hew-pictures-") as place, sync_playwright() as playwright:
        pages = pages_in(Path(place))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        if options.look:
            for (name, path), width, scheme in itertools.product(pages.items(), WIDTHS, SCHEMES):
                page = opened(browser, path, width, 900, scheme)
                page.screenshot(path=options.look / f"{name}-{width}-{scheme}.png", full_page=True)
        for name in [] if options.look else options.names or TAKEN:
            picture = TAKEN[name]
            page = opened(browser, pages[picture.page], 1000, picture.height, picture.scheme)
            picture.does(page)
            page.evaluate("window.scrollTo(0, 0)")
            page.screenshot(path=PICTURES / f"run_{name}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
