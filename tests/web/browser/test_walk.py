"""The demonstration of the slides, by mouse, by keys alone and on a phone."""

import json
import re
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from tests.web.browser.conftest import HOSTILE, Server, service_settings
from tests.web.browser.proxy import Proxy
from tests.web.browser.walk import (
    click_star,
    learn,
    no_status,
    rate_some,
    ratings,
    settled,
    stars,
    titles,
    told,
    wait_for_preferences,
    wait_for_ratings,
)

pytestmark = pytest.mark.slow


def test_choose_rate_learn_rerank_and_flip(page):
    chosen = rate_some(page)
    wait_for_ratings(page, dict(zip(chosen, (5, 4, 1.5, 2.5, 4.5), strict=True)))
    learn(page)
    expect(page.locator("#rated-list li")).to_have_count(5)
    assert set(titles(page, "#rated-list")) == set(chosen)
    best = titles(page, "#unseen-list")
    assert not set(best) & set(chosen)
    expect(page.get_by_role("heading", name="Films for you")).to_be_visible()

    page.get_by_role("button", name="Flip").click()
    expect(page.get_by_role("heading", name="Films not for you")).to_be_visible()
    expect(page.get_by_role("button", name="Flip")).to_have_attribute("aria-pressed", "true")
    worst = titles(page, "#unseen-list")
    assert not set(worst) & set(best)
    answer = page.evaluate("() => fetch('api/ranking?set=unseen&k=1000').then((a) => a.json())")
    ranked = [entry["item"]["title"] for entry in answer["entries"]]
    assert best == ranked[:10]
    assert worst == ranked[::-1][:10]

    page.get_by_role("button", name="Flip").click()
    expect(page.get_by_role("heading", name="Films for you")).to_be_visible()
    assert titles(page, "#unseen-list") == best
    no_status(page)


def test_each_rating_is_learned_from_at_once(page):
    rate_some(page)
    learn(page)
    first = titles(page, "#unseen-list")[0]
    click_star(page.locator("#unseen-list [role=slider]").first, 0.1)
    expect(page.locator("#rated-list li")).to_have_count(6)
    assert first not in titles(page, "#unseen-list")
    assert first in titles(page, "#rated-list")
    expect(page.locator("#picture .dot.own")).to_have_count(6)
    page.get_by_role("button", name=f"Remove your rating of {first}").first.click()
    expect(page.locator("#rated-list li")).to_have_count(5)
    assert first not in settled(page)


def test_search_as_you_type_and_genres(page):
    page.get_by_role("searchbox").press_sequentially("the film 11")
    expect(page.locator(".card")).to_have_count(6)  # 11 and 111, 113 ... 119
    expect(page.locator("#found")).to_have_text("6 films")
    page.get_by_role("searchbox").fill("nothing has this title")
    expect(page.locator("#found")).to_have_text("No film found: try fewer or other words.")
    page.get_by_role("searchbox").fill("")
    expect(page.locator("#found")).to_have_text("121 films")
    page.get_by_label("Genre").select_option("Science fiction")
    expect(page.locator("#found")).to_have_text("30 films")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#page")).to_have_text("Page 2 of 2")
    expect(page.locator(".card")).to_have_count(6)


def test_why_a_film(page):
    chosen = rate_some(page)
    learn(page)
    title = titles(page, "#unseen-list")[0]
    button = page.get_by_role("button", name=f"Why is {title} here?")
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("row")).to_have_count(6)  # each of the ratings, and all else
    for rated in chosen:
        expect(dialog.get_by_role("rowheader", name=rated)).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()


@pytest.mark.parametrize("name", ["PRank", "OAP-BPM", "MPRank", "RankBoost"])
def test_choose_a_method(page, name):
    rate_some(page)
    learn(page)
    with page.expect_response(lambda answer: "api/learn" in answer.url) as found:
        page.get_by_role("radio", name=name, exact=True).check()
    expect(page.locator("#method")).to_have_text(f"How it learns: {name}")
    assert found.value.json()["method"] == told(page)["method"] != "taste"
    expect(page.locator("#unseen-list li")).to_have_count(10)
    expect(page.locator("#picture .dot.own")).to_have_count(5)
    expect(page.locator("#direction")).to_be_visible(visible=name != "RankBoost")
    expect(page.locator("#learned")).to_contain_text(re.compile(f"Learned by {name}: .* threshold"))
    no_status(page)


def test_learn_as_in_the_paper(page):
    page.get_by_role("link", name="Learn as in the paper").click()
    expect(page.get_by_role("radio", name="PRank, as in the paper")).to_be_checked()
    expect(page.locator("#status")).to_contain_text("rate something, then press Learn")
    rate_some(page)
    learn(page)
    assert told(page)["method"] == "prank_paper"
    expect(page.locator("#sentence")).to_contain_text("a step after each mistake")
    expect(page.locator("#source")).to_contain_text("NIPS 2001")
    expect(page.locator("#direction")).to_be_visible()


def test_a_method_that_cannot_learn_says_so(page, watch):
    watch.allowed = ("409",)  # the browser itself writes it to the console
    rate_some(page, 1)
    learn(page)
    page.get_by_role("radio", name="PRank", exact=True).click()  # it is taken back at once
    expect(page.locator("#status")).to_contain_text("needs two different ratings")
    expect(page.get_by_role("radio", name="Taste kernel")).to_be_checked()
    expect(page.locator("#unseen-list li")).to_have_count(10)


def test_what_to_rate_next(page):
    box = page.locator("#next")
    first = box.locator("h3").text_content()
    box.get_by_role("button").click()
    expect(box.locator("h3")).not_to_have_text(first)
    second = titles(page, "#next")[0]
    click_star(box.get_by_role("slider"), 0.7)
    expect(box.get_by_role("slider")).not_to_have_attribute(
        "aria-label", f"Your rating of {second}"
    )
    wait_for_ratings(page, {second: 3.5})


def test_compare_two_films(page):
    rate_some(page)
    learn(page)
    box = page.locator("#pair")
    left, right = box.get_by_label("First film"), box.get_by_label("Second film")
    worse = right.locator("option:checked").text_content()
    before = left.locator("option:checked").text_content()
    box.get_by_role("button", name="The second is better").click()
    expect(left.locator("option:checked")).not_to_have_text(before + worse)
    wait_for_preferences(page, 1)
    asked = page.evaluate("() => fetch('api/export').then((answer) => answer.json())")
    named = {entry["item"]: f"{entry['title']}" for entry in asked["ratings"]}
    assert worse.startswith(named[asked["comparisons"][0]["better"]])


def test_progress_is_shown(page):
    rate_some(page)
    learn(page)
    expect(page.locator("#progress-text")).to_contain_text("over 5 of your ratings")
    expect(page.locator("#curve .point")).to_have_count(5)


def test_export_and_forget(page):
    chosen = rate_some(page)
    learn(page)
    with page.expect_download() as found:
        page.get_by_role("link", name="Export my ratings").click()
    kept = json.loads(Path(found.value.path()).read_text("utf-8"))
    assert {given["title"] for given in kept["ratings"]} == set(chosen)
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("button", name="Keep them").click()
    assert len(ratings(page)) == 5
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget me").click()
    expect(page.locator("#count")).to_have_text("Rate some films to begin")
    expect(page.locator("#unseen")).to_be_hidden()
    expect(page.locator("#picture")).to_be_hidden()
    assert told(page)["ratings"] == []
    assert page.evaluate("() => Object.keys(localStorage).filter((k) => k.includes('said'))") == []


def test_all_is_there_after_a_reload(page):
    chosen = rate_some(page)
    learn(page)
    best = titles(page, "#unseen-list")
    page.reload()
    expect(page.locator("#unseen-list li")).to_have_count(10)
    assert titles(page, "#unseen-list") == best
    expect(stars(page, chosen[2])).to_have_attribute("aria-valuetext", "1.5 of 5 stars")


def test_a_title_is_text(page):
    page.get_by_role("searchbox").fill("onerror")
    expect(page.locator(".card")).to_have_count(1)
    expect(page.locator(".card h3")).to_have_text(f"{HOSTILE} 1999")
    click_star(page.locator(".card [role=slider]"), 0.9)
    learn(page)
    page.locator("#rated-list button.quiet").click()
    expect(page.get_by_role("dialog")).to_contain_text(HOSTILE)
    assert page.locator("main img, main b, dialog img").count() == 0


@pytest.mark.parametrize("width", [400, 320])
def test_on_a_phone_by_touch(visit, width):
    size = {"width": width, "height": 800}
    page = visit(viewport=size, has_touch=True, is_mobile=True).new_page()
    page.goto("")
    page.wait_for_selector(".card")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    chosen = titles(page)[:3]
    for title, part in zip(chosen, (0.95, 0.3, 0.7), strict=True):
        control = stars(page, title)
        control.scroll_into_view_if_needed()
        box = control.bounding_box()
        assert box["height"] >= 44
        control.tap(position={"x": part * box["width"], "y": 20})
    page.get_by_role("button", name="Learn", exact=True).tap()
    expect(page.locator("#unseen-list li")).to_have_count(10)
    expect(page.get_by_role("heading", name="Your ranking")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("button", name="Flip").tap()
    expect(page.get_by_role("heading", name="Films not for you")).to_be_in_viewport()
    page.locator("#unseen-list button.quiet").first.tap()
    expect(page.get_by_role("dialog")).to_be_in_viewport()
    wait_for_ratings(page, dict(zip(chosen, (5, 1.5, 3.5), strict=True)))


@pytest.fixture
def proxy(films_and_hostile, folder, tmp_path):
    """The address of a server behind a proxy, below a path."""
    running = Server(service_settings(films_and_hostile, folder, tmp_path), "--root-path", "/taste")
    running.start()
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as front:
        front.to = running.port
        Thread(target=front.serve_forever).start()
        yield f"http://127.0.0.1:{front.server_port}/taste/"
        front.shutdown()
    running.stop()


def test_under_the_path_of_a_proxy(visit, proxy):
    page = visit(proxy).new_page()
    page.goto("")
    rate_some(page, 2)
    learn(page)
    assert len(settled(page)) == 2
    assert page.context.cookies()[0]["path"] == "/taste"
    page.reload()
    expect(page.locator("#rated-list li")).to_have_count(2)
