"""Steps that several tests take."""

import re

from playwright.sync_api import expect

PATTERN = (0.95, 0.75, 0.25, 0.5, 0.85)  # where stars are clicked


def stars(page, title):
    """Return the rating control of a card, by the film's title."""
    return page.locator("#cards").get_by_role("slider", name=f"Your rating of {title}", exact=True)


def titles(page, inside="#cards"):
    """Return the titles of the cards."""
    texts = page.locator(f"{inside} [role=slider]").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label'))"
    )
    return [text.removeprefix("Your rating of ") for text in texts]


def press_at_once(control, *keys):
    """Press keys with no time between them; return what the control says after each."""
    return control.evaluate(
        "(node, keys) => keys.map((key) => {"
        " node.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));"
        " return node.getAttribute('aria-valuetext'); })",
        keys,
    )


def click_star(control, part):
    """Click at a part of the width of a rating control."""
    control.scroll_into_view_if_needed()
    box = control.bounding_box()
    control.click(position={"x": part * box["width"], "y": box["height"] / 2})


def rate_some(page, n=5):
    """Rate the first cards by mouse; return their titles."""
    page.wait_for_selector(".card")
    chosen = titles(page)[:n]
    for title, part in zip(chosen, PATTERN, strict=False):
        click_star(stars(page, title), part)
    expect(page.locator("#count")).to_have_text(f"{n} film{'s' if n > 1 else ''} rated")
    return chosen


def learn(page):
    """Press Learn and wait for the lists."""
    page.get_by_role("button", name="Learn", exact=True).click()
    expect(page.locator("#unseen-list li")).to_have_count(10)


def told(page):
    """Return what the server knows of the page's visitor."""
    return page.evaluate("() => fetch('api/me').then((answer) => answer.json())")


def ratings(page):
    """Return the visitor's ratings by title, as the server has them."""
    return {given["item"]["title"]: given["rating"] for given in told(page)["ratings"]}


def wait_for_ratings(page, wanted):
    """Wait until the server has these ratings."""
    for _ in range(100):
        if ratings(page) == wanted:
            return
        page.wait_for_timeout(100)
    assert ratings(page) == wanted


def settled(page):
    """Wait until all that was said is sent, and return the ratings."""
    page.wait_for_function("() => !Object.keys(localStorage).some((key) => key.includes(':said:'))")
    return ratings(page)


def wait_for_preferences(page, n):
    """Wait until the server has so many answers to which of two is better."""
    for _ in range(100):
        if told(page)["preferences"] == n:
            return
        page.wait_for_timeout(100)
    assert told(page)["preferences"] == n


def no_status(page):
    """Expect that nothing is wrong."""
    expect(page.locator("#status")).to_have_text("")


def waiting(page, n):
    """Expect that the page says how much is not yet sent."""
    said = "1 change waits" if n == 1 else f"{n} changes wait"
    expect(page.locator("#status")).to_have_text(re.compile(said))
