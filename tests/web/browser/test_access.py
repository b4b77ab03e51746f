"""Readable by everybody: axe-core's rules, contrast in both schemes, less motion, other scales."""

import json

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.web.browser.walk import click_star, learn, press_at_once, rate_some, stars, titles

pytestmark = pytest.mark.slow


def findings(page):
    """Return what axe-core finds: the rule, how bad it is, and where."""
    page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished))")
    found = Axe().run(page).response["violations"]
    return [
        (one["id"], one["impact"], [node["target"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in {"moderate", "serious", "critical"}
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 400])
def test_axe_finds_nothing(visit, scheme, width):
    page = visit(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    page.goto("")
    page.wait_for_selector(".card")
    assert findings(page) == []
    rate_some(page)
    learn(page)
    expect(page.locator("#curve svg")).to_be_visible()
    assert findings(page) == []
    page.get_by_role("button", name="Flip").click()
    page.locator("#unseen-list button.quiet").first.click()
    expect(page.locator("dialog .parts")).to_be_visible()
    assert findings(page) == []


def test_the_page_has_landmarks_and_one_main_heading(page):
    for role in ("banner", "main", "contentinfo", "search"):
        expect(page.get_by_role(role)).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for name in ("Rate films", "Your ranking", "Was it right about you?"):
        expect(page.get_by_role("region", name=name)).to_be_visible()


def test_a_screen_reader_is_told(page):
    title = titles(page)[0]
    click_star(stars(page, title), 0.9)
    expect(page.locator("#said")).to_contain_text(f"{title}: 4.5, saved.")


def test_nothing_moves_for_those_who_want_it_so(visit):
    page = visit(reduced_motion="reduce").new_page()
    page.goto("")
    rate_some(page)
    learn(page)
    page.evaluate(
        "() => { window.moved = 0; const old = Element.prototype.animate;"
        " Element.prototype.animate = function (...a) { moved += 1; return old.apply(this, a); } }"
    )
    click_star(page.locator("#unseen-list [role=slider]").first, 0.1)
    expect(page.locator("#rated-list li")).to_have_count(6)
    page.get_by_role("button", name="Flip").click()
    expect(page.get_by_role("heading", name="Films not for you")).to_be_visible()
    assert page.evaluate("moved + document.getAnimations().length") == 0


def test_a_scale_that_is_not_stars(visit):
    page = visit().new_page()

    def other_scale(route):
        answer = route.fetch()
        scale = {"low": -10, "high": 10, "step": 0.5}
        route.fulfill(response=answer, body=json.dumps({**answer.json(), "scale": scale}))

    page.route("**/api/me", other_scale)
    page.route("**/api/ratings/*", lambda route: route.abort())
    page.goto("")
    page.wait_for_selector(".card .meter")
    control = stars(page, titles(page)[0])
    expect(control).to_have_attribute("aria-valuemin", "-10")
    control.focus()
    said = press_at_once(control, "ArrowLeft", "ArrowLeft", "PageDown", "Home", "Escape")
    assert said == ["0", "-0.5", "-4.5", "-10", "not rated"]
