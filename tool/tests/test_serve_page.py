# SPDX-License-Identifier: MIT
"""The page of `hew serve` in Debian's Chromium: hostile words, keys, themes, a telephone's width, its buttons."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from web import HOSTILE, TOKEN, MadeUp, Served, served

PATIENCE = 120_000  # ms


@pytest.fixture
def site() -> MadeUp:
    """What is served."""
    return MadeUp()


@pytest.fixture
def server(site: MadeUp) -> Iterator[Served]:
    """It, served."""
    with served(site) as one:
        yield one


def opened(browser: Browser, server: Served, said: list[str], token: str = TOKEN, **looks: Any) -> Page:
    """The page with a process; what its console says goes into a list."""
    expect.set_options(timeout=PATIENCE)
    page = browser.new_page(**looks)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(server.url + (f"/#token={token}" if token else ""), timeout=PATIENCE)
    expect(page.locator("#name")).to_contain_text("4242")
    return page


def test_names_that_others_chose_are_text_everywhere(browser: Browser, server: Served) -> None:
    said: list[str] = []
    page = opened(browser, server, said)
    page.click("#ask")
    expect(page.locator("#advice .piece")).to_have_count(1)
    expect(page.locator("#compare tbody tr")).to_have_count(1)
    for place in ("#name", "#words", "#notice", "#list", "#threads", "#arenas", "#locks", "#advice", "#compare"):
        assert HOSTILE in page.locator(place).inner_text(), place
    assert page.locator("img, main script, iframe").count() == 0
    assert "taken" not in page.title().partition("<")[0]
    assert page.evaluate("document.querySelector('#history canvas') !== null")
    assert said == []  # no breach of the policy, no error
    page.close()


def test_a_profile_is_drawn_searched_zoomed_and_compared(browser: Browser, server: Served, site: MadeUp) -> None:
    said: list[str] = []
    page = opened(browser, server, said)
    page.click("#take")
    frames = page.locator("#flame .frame")
    expect(frames).to_have_count(4)
    for place in ("#flame", "#flame-state"):
        assert HOSTILE in page.locator(place).inner_text(), place
    page.fill("#flame [data-at=search]", "'taken'</SCRIPT>1")
    expect(page.locator("#flame .frame.found")).to_have_count(1)
    expect(page.locator("#flame [data-at=legend]")).to_contain_text("600 B")
    page.keyboard.press("Escape")
    expect(page.locator("#flame .frame.found")).to_have_count(0)
    frames.nth(1).click()
    expect(page.locator("#flame [data-at=reset]")).to_be_visible()
    page.locator("#flame .graph").press("Escape")
    expect(page.locator("#flame [data-at=reset]")).to_be_hidden()
    page.locator("#flame .kinds button").nth(2).click()
    expect(page.locator("#flame .told")).to_contain_text("1.17 KiB ± 4.24 KiB allocated bytes")
    page.click("#keep-profile")
    expect(page.locator("#flame .frame.grown")).to_have_count(0)  # of allocated bytes nothing changed
    expect(page.locator("#flame .frame.same")).to_have_count(3)
    page.locator("#flame .kinds button").nth(0).click()
    expect(page.locator("#flame .frame.grown")).to_have_count(2)
    assert page.locator("#flame-base").input_value() == "1"
    assert ("keep_profile", 4242) in site.done
    assert page.locator("img, main script").count() == 0
    assert said == []
    page.close()


def test_an_advice_is_applied_by_its_button_and_only_with_the_link(
    browser: Browser, server: Served, site: MadeUp
) -> None:
    said: list[str] = []
    page = opened(browser, server, said, token="")
    page.click("#ask")
    expect(page.locator("#advice .go")).to_be_disabled()
    expect(page.locator("#keep")).to_be_disabled()
    page.close()
    page = opened(browser, server, said)
    assert TOKEN not in page.url
    page.click("#ask")
    page.click("#advice .go")
    expect(page.locator("#advice")).to_contain_text("dirty_decay_ms:1000 applied")
    page.click("#keep")
    expect(page.locator("#before option")).to_have_count(3)
    assert site.done[0] == ("apply", 4242, "a-rule")
    assert site.done[1] == ("keep", 4242)
    assert said == []
    page.close()


def test_keys_lead_through_the_page(browser: Browser, server: Served) -> None:
    page = opened(browser, server, [])
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("nothing has such a name")
    expect(page.locator("#list button")).to_have_count(0)
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    assert page.evaluate("document.activeElement.getAttribute('aria-labelledby')") == "h-memory"
    page.keyboard.press("Space")
    expect(page.locator("#pause")).to_have_attribute("aria-pressed", "true")
    page.locator("#histogram button").first.focus()
    expect(page.locator(".said")).to_contain_text("objects")
    page.close()


def test_who_keeps_slabs_is_a_table(browser: Browser, server: Served, site: MadeUp) -> None:
    said: list[str] = []
    page = opened(browser, server, said)
    assert site.done == [], "nothing is asked by itself"
    page.click("#find-pins")
    expect(page.locator("#pins tbody tr")).to_have_count(1)
    for words in ("858 MiB", "64 B", "1.5 min", "1.2 days", f"{HOSTILE} < main"):
        expect(page.locator("#pins")).to_contain_text(words)
    assert HOSTILE in page.locator("#pins-state").inner_text()
    page.select_option("#sparse", "10")
    expect(page.locator("#find-pins")).to_be_enabled()
    assert site.done == [("pins", 4242, 25), ("pins", 4242, 10)]
    assert page.locator("img, main script").count() == 0
    assert said == []
    page.close()


def test_a_fleet_is_ranked_with_advice_limits_and_a_rollout(browser: Browser, server: Served, site: MadeUp) -> None:
    said: list[str] = []
    page = opened(browser, server, said)
    assert page.locator("#fleet").is_hidden(), "a process was named: it is shown first"
    page.keyboard.press("f")
    expect(page.locator("#services tbody tr")).to_have_count(3)
    expect(page.locator("#process")).to_be_hidden()
    for place in ("#fleet-words", "#fleet-notice", "#fleet-notes", "#services", "#service-name", "#costs", "#beside",
                  "#service-advice"):  # fmt: skip
        assert HOSTILE in page.locator(place).inner_text(), place
    shown = page.locator("#service").inner_text()
    for words in ("12.5 cores", "2.79 GiB", "where it is most: hew advise 7", "is -1, but not on 2 hosts",
                  "95 %", "never, maybe", "1.5 days: a rhythm", "dirty_decay_ms:1000"):  # fmt: skip
        assert words in shown, words
    assert f"hew advise {HOSTILE}" not in shown, "that is no process"
    page.keyboard.press("j")
    expect(page.locator("#service-name")).to_have_text("(no name)")
    expect(page.locator("#beside")).to_contain_text("Near its limit")
    page.keyboard.press("j")
    expect(page.locator("#beside")).to_contain_text("Nothing to get back")
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.click("#rollout-go")
    expect(page.locator("#rollout-state")).to_contain_text("Say when")
    page.fill("#rollout-at", "2026-11-23T12:00")
    page.fill("#rollout-setting", "dirty_decay_ms:f1000")
    page.click("#rollout-go")
    expect(page.locator("#rollout")).to_contain_text("20% less")
    assert page.locator("#fleet").is_visible(), "an f that is typed is no key"
    for place in ("#rollout", "#rollout-state"):
        assert HOSTILE in page.locator(place).inner_text(), place
    assert site.done[-1][:2] == ("rollout", HOSTILE)
    assert site.done[-1][3] == "dirty_decay_ms:f1000"
    assert page.locator("img, main script, iframe").count() == 0
    page.reload()
    expect(page.locator("#services tbody tr")).to_have_count(3)  # the address says fleet
    page.locator("#list button").first.click()
    expect(page.locator("#name")).to_contain_text("4242")
    expect(page.locator("#fleet")).to_be_hidden()
    assert said == []
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_fleet_fits_and_can_be_read(browser: Browser, server: Served, width: int, scheme: str) -> None:
    looks: dict[str, Any] = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    page = opened(browser, server, [], **looks)
    page.click("#fleet-open")
    expect(page.locator("#services tbody tr")).to_have_count(3)
    page.fill("#rollout-at", "2026-11-23T12:00")
    page.click("#rollout-go")
    expect(page.locator("#rollout tbody tr")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for place in ("#fleet-words", "#fleet-notice", "#services td", "#services button", "#costs td", "#beside p",
                  "#rollout td", "#rollout .less", "#fleet .hint"):  # fmt: skip
        expect(page.locator(place).first).to_be_attached()
        assert page.evaluate(CONTRAST, place) >= 4.5, place
    page.close()


@pytest.mark.parametrize("width", [390, 760, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(browser: Browser, server: Served, width: int, scheme: str) -> None:
    looks: dict[str, Any] = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    page = opened(browser, server, [], **looks)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.shown") == scheme
    page.click("#take")
    expect(page.locator("#flame .frame")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for place in (".words", "#waterfall span", ".hint", "#bins td", "#flame .frame:nth-child(3)", "#flame .told"):
        expect(page.locator(place).first).to_be_attached()
        assert page.evaluate(CONTRAST, place) >= 4.5, place
    page.close()


# Of the first shown element's text to what is behind it, as WCAG 2 counts it.  The page draws itself anew meanwhile:
# an element that was found in one step is gone in the next.
CONTRAST = """place => {
  const element = [...document.querySelectorAll(place)].find((one) => one.checkVisibility());
  const light = (text) => {
    const [red, green, blue] = text.match(/[\\d.]+/g).map(Number).map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  let behind = element;
  while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
  const text = light(getComputedStyle(element).color), ground = light(getComputedStyle(behind).backgroundColor);
  return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
}"""
