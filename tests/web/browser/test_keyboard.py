"""Everything can be done by keys alone, and the focus is never lost."""

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from tests.web.browser.walk import (
    learn,
    press_at_once,
    rate_some,
    ratings,
    stars,
    titles,
    wait_for_ratings,
)

pytestmark = pytest.mark.slow


def focused(page):
    """Return the name or the text of what has the focus."""
    return page.evaluate(
        "() => document.activeElement.getAttribute('aria-label')"
        " ?? (document.activeElement.textContent || document.activeElement.id).trim()"
    )


def tab_to(page, name, key="Tab", most=150):
    """Press Tab until something of this name has the focus."""
    for _ in range(most):
        if focused(page) == name:
            return
        page.keyboard.press(key)
    pytest.fail(f"{most} presses of {key} do not reach {name!r}")


def test_the_whole_walk(page):
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to your ranking"
    chosen = titles(page)[:4]
    # a digit; the middle, then two steps up; the end; digit, then half a star less
    presses = (["2"], ["ArrowRight", "ArrowUp", "ArrowUp"], ["End"], ["4", "ArrowLeft"])
    for title, keys in zip(chosen, presses, strict=True):
        tab_to(page, f"Your rating of {title}")
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        assert focused(page) == f"Your rating of {title}"
    wait_for_ratings(page, dict(zip(chosen, (2, 4, 5, 3.5), strict=True)))

    tab_to(page, "Learn", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#unseen-list li")).to_have_count(10)
    expect(page.locator("#ranking")).to_be_focused()

    best = titles(page, "#unseen-list")
    tab_to(page, f"Why is {best[0]} here?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text(best[0])
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert focused(page) == f"Why is {best[0]} here?"

    tab_to(page, "Flip", "Shift+Tab")
    page.keyboard.press("Space")
    expect(page.get_by_role("heading", name="Films not for you")).to_be_visible()
    assert focused(page) == "Flip"
    assert not set(titles(page, "#unseen-list")) & set(best)

    page.keyboard.press("Space")
    tab_to(page, "Forget me")
    page.keyboard.press("Enter")
    assert focused(page) == "Keep them"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("Rate some films to begin")


def test_choose_a_method_by_arrow_keys(page):
    rate_some(page)
    learn(page)
    page.get_by_role("radio", name="Taste kernel").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#method")).to_have_text("How it learns: PRank")
    expect(page.get_by_role("radio", checked=True)).to_be_focused()


def test_a_film_that_leaves_a_list_keeps_the_focus_until_it_is_left(page):
    rate_some(page)
    learn(page)
    first, second = titles(page, "#unseen-list")[:2]
    page.locator("#ranking").focus()
    tab_to(page, f"Your rating of {first}")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator("#rated-list li")).to_have_count(6)
    assert focused(page) == f"Your rating of {first}"
    page.keyboard.press("ArrowRight")  # it may still be mended
    page.keyboard.press("Enter")
    wait_for_ratings(page, {**ratings(page), first: 3.5})
    assert focused(page) == f"Your rating of {first}"
    tab_to(page, f"Your rating of {second}")
    expect(page.locator("#unseen-list li")).to_have_count(10)
    assert first not in titles(page, "#unseen-list")
    assert focused(page) == f"Your rating of {second}"


def test_the_focus_stays_while_the_list_is_put_in_order(page):
    chosen = rate_some(page)
    learn(page)
    page.locator("#ranking").focus()
    last = titles(page, "#rated-list")[-1]
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#rated-list') !== null"):
            break
    tab_to(page, f"Your rating of {last}")
    before = page.evaluate("document.activeElement.getBoundingClientRect().width")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    wait_for_ratings(page, {**ratings(page), last: 5})
    expect(page.locator("#rated-list li")).to_have_count(len(chosen))
    assert focused(page) == f"Your rating of {last}"
    assert before > 0


def test_delete_removes_a_rating_and_escape_takes_a_choice_back(page):
    title = titles(page)[0]
    control = stars(page, title)
    control.focus()
    assert press_at_once(control, "4", "Escape") == ["4 of 5 stars", "not rated"]
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    wait_for_ratings(page, {title: 4})
    page.keyboard.press("Delete")
    expect(control).to_have_attribute("aria-valuetext", "not rated")
    wait_for_ratings(page, {})
    expect(control).to_be_focused()


def test_keys_in_a_row_are_one_rating(page):
    title = titles(page)[0]
    sent = []
    page.on(
        "request", lambda request: request.method == "PUT" and sent.append(request.post_data_json)
    )
    control = stars(page, title)
    control.focus()
    said = press_at_once(control, *["ArrowRight"] * 4)
    assert said == [f"{rating} of 5 stars" for rating in ("3", "3.5", "4", "4.5")]
    wait_for_ratings(page, {title: 4.5})
    assert sent == [{"rating": 4.5}]
