"""Teas that a page shows after a few clicks. `serve.py` beside this file serves the page.

gossamer crawl examples/teahouse/shop.py --allow-private 127.0.0.0/8 -o teas.jsonl
"""

from gossamer import Site

STEPS = [
    {"click": "#accept", "frame": "#consent"},  # the consent window of another site
    {"select": "#size", "with": "Large tin"},
    {"click": "form button"},  # opens a window
    {"wait_url": "/sorted"},  # the window leads to this page after 700 ms
    {"wait_response": "/api/teas$"},
    {"wait_text": "in stock"},
]
site = Site(
    "teahouse", seeds=["http://127.0.0.1:8010/"], ladder="browser", follow=False, render={"steps": STEPS}
)


@site.page()
def teas(page):
    for tea in page.css("li.tea"):
        yield {"name": tea.css("b::text").get(), "price": tea.price("i")}
