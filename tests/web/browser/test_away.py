"""The network fails, the server dies, two tabs are open: nothing is lost and the page says so."""

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from tests.web.browser.walk import (
    click_star,
    learn,
    no_status,
    rate_some,
    ratings,
    settled,
    stars,
    titles,
    wait_for_preferences,
    wait_for_ratings,
    waiting,
)

pytestmark = pytest.mark.slow

# What the browser itself writes to the console when a request fails.
FAILED = ("Failed to load resource",)


def test_offline_and_back(page, watch):
    watch.allowed = FAILED
    rate_some(page)
    learn(page)
    before = settled(page)
    page.context.set_offline(True)
    first, second = titles(page)[6:8]
    click_star(stars(page, first), 0.9)
    click_star(stars(page, second), 0.3)
    waiting(page, 2)
    expect(stars(page, first)).to_have_attribute("aria-valuetext", "4.5 of 5 stars, not sent yet")
    expect(page.locator("#count")).to_have_text("7 films rated")
    assert first in titles(page, "#rated-list")
    click_star(stars(page, second), 0.5)  # a newer rating takes the place of the one that waits
    waiting(page, 2)
    third = titles(page)[8]
    click_star(stars(page, third), 0.5)
    page.locator("#cards").get_by_role("button", name=f"Remove your rating of {third}").click()
    waiting(page, 3)
    page.context.set_offline(False)
    no_status(page)
    wait_for_ratings(page, {**before, first: 4.5, second: 2.5})
    expect(page.locator("#picture .dot.own")).to_have_count(7)


@pytest.mark.parametrize("elsewhere_first", [True, False])
def test_what_waits_survives_the_page(page, watch, elsewhere_first):
    watch.allowed = FAILED
    context = page.context
    rate_some(page, 2)
    before = settled(page)
    context.set_offline(True)
    title = titles(page)[5]
    stars(page, title).focus()
    page.keyboard.press("3")  # does not count yet, and the page is closed at once
    if elsewhere_first:
        page.goto("about:blank")
    page.close()
    context.set_offline(False)
    again = context.new_page()
    again.goto("")
    wait_for_ratings(again, {**before, title: 3})
    no_status(again)


def test_learn_and_compare_wait_too(page, watch):
    watch.allowed = FAILED
    rate_some(page)
    settled(page)
    page.context.set_offline(True)
    page.get_by_role("button", name="Learn", exact=True).click()
    page.get_by_role("button", name="The first is better").click()
    waiting(page, 2)
    page.context.set_offline(False)
    expect(page.locator("#unseen-list li")).to_have_count(10)
    wait_for_preferences(page, 1)
    no_status(page)


def test_the_server_dies_and_comes_back(visit, own_server, watch):
    watch.allowed = FAILED
    page = visit(own_server.url).new_page()
    page.goto("")
    rate_some(page)
    learn(page)
    before = settled(page)
    own_server.stop()
    title = titles(page)[6]
    click_star(stars(page, title), 0.9)
    waiting(page, 1)
    page.get_by_role("button", name="Try now").click()
    waiting(page, 1)
    own_server.start()
    no_status_after_a_while(page)
    wait_for_ratings(page, {**before, title: 4.5})


def test_the_page_tries_again_by_itself(page, watch):
    watch.allowed = FAILED
    answers = iter([503, 429, 503])

    def fail(route):
        status = next(answers, None)
        if status is None:
            return route.continue_()
        return route.fulfill(status=status, json={"detail": "the database can't be reached"})

    page.route("**/api/ratings/*", fail)
    title = titles(page)[0]
    click_star(stars(page, title), 0.9)
    expect(page.locator("#status")).to_contain_text("The database can't be reached. 1 change waits")
    no_status_after_a_while(page)
    wait_for_ratings(page, {title: 4.5})


def no_status_after_a_while(page):
    """Expect that the page finds back by itself."""
    expect(page.locator("#status")).to_have_text("", timeout=60_000)


def test_an_answer_that_was_cut_off_is_none(page):
    answers = iter(['{"item": "1", "rat'])

    def cut(route):
        text = next(answers, None)
        if text is None:
            return route.continue_()
        return route.fulfill(status=200, body=text)

    page.route("**/api/ratings/*", cut)
    title = titles(page)[0]
    click_star(stars(page, title), 0.9)
    waiting(page, 1)
    no_status_after_a_while(page)
    assert settled(page) == {title: 4.5}


def test_a_refused_rating_is_taken_back_and_said(page, watch):
    watch.allowed = FAILED
    page.route(
        "**/api/ratings/*", lambda route: route.fulfill(status=422, json={"detail": "not so"})
    )
    title = titles(page)[0]
    click_star(stars(page, title), 0.9)
    expect(page.locator("#status")).to_contain_text("Not so.")
    page.mouse.move(5, 5)
    expect(stars(page, title)).to_have_attribute("aria-valuetext", "not rated")
    page.get_by_role("button", name="Close").click()
    no_status(page)


def test_forget_me_is_not_promised_while_the_server_is_away(page, watch):
    watch.allowed = FAILED
    rate_some(page, 2)
    settled(page)
    page.route("**/api/me", lambda route: route.abort())
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget me").click()
    expect(page.locator("#status")).to_contain_text("You were not forgotten")
    page.unroute("**/api/me")
    assert len(ratings(page)) == 2


def test_two_tabs(page):
    other = page.context.new_page()
    other.goto("")
    chosen = rate_some(page)
    expect(other.locator("#count")).to_have_text("5 films rated")
    expect(stars(other, chosen[2])).to_have_attribute("aria-valuetext", "1.5 of 5 stars")
    learn(page)
    expect(other.locator("#unseen-list li")).to_have_count(10)
    click_star(stars(other, chosen[2]), 0.99)
    page.mouse.move(5, 5)
    expect(stars(page, chosen[2])).to_have_attribute("aria-valuetext", "5 of 5 stars")
    # both say something at once
    sixth, seventh = titles(page)[6:8]
    click_star(stars(page, sixth), 0.5)
    click_star(stars(other, seventh), 0.7)
    for tab in (page, other):
        expect(tab.locator("#count")).to_have_text("7 films rated")
        expect(tab.locator("#picture .dot.own")).to_have_count(7)
    assert titles(page, "#unseen-list") == titles(other, "#unseen-list")
    given = ratings(page)
    assert (given[sixth], given[seventh], given[chosen[2]]) == (2.5, 3.5, 5)
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget me").click()
    expect(other.locator("#count")).to_have_text("Rate some films to begin")


def test_two_tabs_without_a_network(page, watch):
    watch.allowed = FAILED
    other = page.context.new_page()
    other.goto("")
    other.wait_for_selector(".card")
    page.context.set_offline(True)
    first, second = titles(page)[:2]
    click_star(stars(page, first), 0.9)
    click_star(stars(other, second), 0.5)
    for tab in (page, other):
        waiting(tab, 2)
    page.close()
    other.context.set_offline(False)
    no_status(other)
    wait_for_ratings(other, {first: 4.5, second: 2.5})


def test_an_old_answer_does_not_hide_a_new_rating(page):
    held = []

    def hold(route):
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route("**/api/me", hold)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    title = titles(page)[0]
    with page.expect_response(lambda answer: answer.request.method == "PUT"):
        click_star(stars(page, title), 0.9)
    (route, answer) = held[0]
    with page.expect_response("**/api/me"):
        route.fulfill(response=answer)
    page.wait_for_timeout(300)
    expect(page.locator("#count")).to_have_text("1 film rated")
    expect(stars(page, title)).to_have_attribute("aria-valuetext", "4.5 of 5 stars")


def test_a_cookie_that_was_voided_is_replaced(page, watch):
    watch.allowed = FAILED
    rate_some(page, 2)
    settled(page)
    cookie = page.context.cookies()[0]
    page.context.add_cookies([{**cookie, "value": "forged"}])
    title = titles(page)[4]
    click_star(stars(page, title), 0.9)
    expect(page.locator("#status")).to_contain_text("no longer knows your earlier ratings")
    expect(page.locator("#count")).to_have_text("1 film rated")
    assert settled(page) == {title: 4.5}


def test_a_cookie_that_is_voided_again_and_again_is_not_asked_for_in_a_loop(page, watch):
    """Two services that fight over a cookie must not make a browser ask without end."""
    watch.allowed = FAILED
    asked = []

    def refuse(route):
        asked.append(route.request.url)
        route.fulfill(status=401, json={"detail": "you were forgotten"})

    page.route("**/api/**", refuse)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(4_000)
    assert 2 <= len(asked) <= 40
    expect(page.locator("#status")).to_contain_text("Trying again")
    page.unroute("**/api/**")
    no_status_after_a_while(page)
