"""Deeply nested pages, and cookies of subdomains, on the browser rung."""

from __future__ import annotations

import pytest

from collectors.browser.conftest import IN_MODULE, Shared, Stage, failure, page
from gossamer.identity.cookies import Jar
from gossamer.parsing import html
from gossamer.parsing.links import links_of

pytestmark = IN_MODULE

NESTED = """<!doctype html><title>deep</title><script>
let at = document.body || document.documentElement.appendChild(document.createElement('body'));
for (let n = 0; n < {depth}; n++) at = at.appendChild(document.createElement('div'));
at.innerHTML = '<a href=/bottom>the bottom</a>';
</script>"""


@pytest.mark.parametrize("depth", [1000, 3000])
async def test_a_page_of_deeply_nested_elements_is_read(stage: Stage, shared: Shared, depth: int) -> None:
    """Chromium itself shows no page of 3,000 nested elements: its process dies."""
    stage.pages["/deep"] = NESTED.format(depth=depth)
    if depth == 3000 and not shared.is_firefox:
        died = await failure(shared.collector, stage.url("/deep"))
        assert (died.reason, died.detail) == ("reset", "the process of the page died")
        return
    got = await page(shared.collector, stage.url("/deep"))
    read = html.parse(got.body, got.content_type, got.url)
    assert [one.url for one in links_of(read)] == [stage.url("/bottom")]


async def test_cookies_of_a_domain_go_to_its_subdomains(stage: Stage, shared: Shared) -> None:
    stage.pages |= {
        "/": (
            200,
            {"set-cookie": "sent=1; Domain=shop.test; Path=/"},
            "<script>document.cookie = 'made=1; domain=shop.test; path=/'; document.cookie = 'own=1; path=/'</script>",
        ),
        "/frame": "<p>x</p>",
        "/outer": f"<iframe src='http://www.shop.test:{stage.server_port}/frame'></iframe>",
    }
    first = await page(shared.collector, stage.url("/", "shop.test"))
    jar = Jar()
    for name, value in first.headers:
        if name == "set-cookie":
            jar.take(first.url, value)
    inner = stage.url("/frame", "www.shop.test")
    await page(shared.collector, inner, {"cookie": jar.header(inner)})
    assert sorted(stage.seen[-1][1]["cookie"].split("; ")) == ["made=1", "sent=1"]
    outer = stage.url("/outer", "shop.test")
    await page(shared.collector, outer, {"cookie": jar.header(outer)})
    sent = {path: headers.get("cookie", "") for path, headers in stage.seen[-2:]}
    assert sorted(sent["/frame"].split("; ")) == ["made=1", "sent=1"]
    assert sorted(sent["/outer"].split("; ")) == ["made=1", "own=1", "sent=1"]
