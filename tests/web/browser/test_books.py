"""A catalogue of books with pictures and links: the same page with other words."""

import csv

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from dataclasses import replace

from playwright.sync_api import expect

from tests.web.browser.conftest import Server, service_settings
from tests.web.browser.walk import click_star, titles

pytestmark = pytest.mark.slow


@pytest.fixture
def books(films, folder, tmp_path):
    """The address of a page of books with up to ten stars: the films by other names."""
    path = tmp_path / "books.csv"
    with films.open(encoding="utf-8") as source, path.open("w", newline="") as file:
        rows = list(csv.reader(source))
        writer = csv.writer(file)
        writer.writerow([*rows[0], "image", "url", "description", "author"])
        for row in rows[1:]:
            pages = f"https://books.example/{row[1]}"
            row[2] = int(2 * float(row[2]))
            writer.writerow([*row, f"{pages}.png", pages, f"About {row[1]}", "Jane Austen"])
    settings = service_settings(path, folder, tmp_path)
    running = Server(replace(settings, noun="book,books"))
    running.start()
    yield running.url
    running.stop()


@pytest.mark.parametrize("width", [1300, 400])
def test_the_walk_with_books(visit, books, watch, width):
    watch.hosts = ("https://books.example/",)
    context = visit(books, viewport={"width": width, "height": 900})
    context.route("https://books.example/**", lambda route: route.fulfill(
        status=200, content_type="image/svg+xml",
        body="<svg xmlns='http://www.w3.org/2000/svg' width='2' height='3'/>"))  # fmt: skip
    page = context.new_page()
    page.goto("")
    page.wait_for_selector(".card")
    expect(page.get_by_role("heading", level=1)).to_have_text("Which books do you like?")
    card = page.locator(".card").first
    expect(card.locator("img.cover")).to_be_visible()
    assert card.locator("img.cover").evaluate("one => one.naturalWidth") > 0
    expect(card.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")
    expect(card.locator(".description")).to_contain_text("About")
    expect(card.locator(".genres")).to_contain_text("Jane Austen · ")
    right = card.locator("img.cover").bounding_box()
    for part in ("h3", ".genres", ".description"):  # nothing flows below the picture
        assert card.locator(part).bounding_box()["x"] >= right["x"] + right["width"]
    for part in ("[role=slider]", "button.quiet"):  # ten stars and the button fit, in one line each
        box = page.locator(f"#next {part}").bounding_box()
        assert box["x"] + box["width"] <= width
        assert box["height"] <= 44
    for title, part in zip(titles(page)[:3], (0.95, 0.3, 0.7), strict=True):
        click_star(page.locator("#cards").get_by_label(f"Your rating of {title}", exact=True), part)
    expect(page.locator("#count")).to_have_text("3 books rated")
    page.get_by_role("button", name="Learn", exact=True).click()
    expect(page.locator("#unseen-list li")).to_have_count(10)
    expect(page.get_by_role("heading", name="Books for you", exact=True)).to_be_visible()
    first = page.locator("#picture" if width == 1300 else "#ranking")
    expect(first).to_be_in_viewport()
    page.wait_for_function(
        "one => one.getBoundingClientRect().top < 100", arg=first.element_handle()
    )
    guess = page.locator("#unseen-list .guess").first.text_content().split()[2]
    page.locator("#unseen-list button.quiet").first.click()
    expect(page.locator("dialog caption")).to_contain_text(f"We expect {guess} from you")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Flip").click()
    expect(page.get_by_role("heading", name="Books not for you")).to_be_visible()
    assert "film" not in page.locator("body").inner_text().replace("Film", "").casefold()
    assert page.evaluate("document.documentElement.scrollWidth") == width
