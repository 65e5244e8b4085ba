"""The memory and the requests of one page are bounded, and other pages continue."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest

from collectors.browser.conftest import IN_MODULE, Make, Stage, failure, page
from gossamer.collectors.browser.memory_watch import MAX_BYTES
from gossamer.model.rendering import Render, Scroll
from gossamer.model.request import Request

pytestmark = IN_MODULE

ENDLESS = {
    "canvases": (
        "const kept = []; setInterval(() => { for (let n = 0; n < 4; n++) {"
        " const one = document.createElement('canvas'); one.width = one.height = 4096;"
        " const draw = one.getContext('2d'); draw.fillStyle = '#' + kept.length; draw.fillRect(0, 0, 4096, 4096);"
        " draw.getImageData(0, 0, 1, 1); kept.push(one) } }, 1)"
    ),
    "buffers": "const kept = []; while (true) kept.push(new Uint8Array(new ArrayBuffer(1 << 24)).fill(7))",
    "worker": (
        "const code = 'const kept = []; while (true) kept.push(new Float64Array(1 << 20).fill(1.5))';"
        " const work = new Worker(URL.createObjectURL(new Blob([code])))"
    ),
    "elements": (
        "document.body.hidden = true; const part = document.createElement('div');"
        " for (let n = 0; n < 5000; n++) { const one = document.createElement('p');"
        " one.title = 'x' + n; one.append('text ' + n); part.append(one) };"
        " const add = () => { for (let n = 0; n < 20; n++) document.body.append(part.cloneNode(true));"
        " setTimeout(add, 0) }; add()"
    ),
    "strings": "const kept = []; let n = 0; while (true) kept.push('x'.repeat(1 << 20) + n++ + Math.random())",
}
FOREVER = "<p>x</p><script>setInterval(() => 0, 10)</script>"


WAYS = [*((way, Render(until="false")) for way in ENDLESS), ("elements", Render(scroll=Scroll()))]


@contextlib.contextmanager
def counted_turns() -> Iterator[Callable[[], int]]:
    """Counts the turns of a thread that sleeps 20 ms between two turns, which on a busy machine are few. Yields a
    function that returns the number."""
    found, ended = 0, threading.Event()

    def count() -> None:
        nonlocal found
        while not ended.wait(0.02):
            found += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield lambda: found
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(("way", "render"), WAYS)
async def test_a_page_that_takes_too_much_memory_is_ended_and_other_tabs_go_on(
    stage: Stage, browser: Make, way: str, render: Render
) -> None:
    stage.pages["/"] = f"<!doctype html><body><script>{ENDLESS[way]}</script>"
    stage.pages["/other"] = FOREVER
    looks = {"f": Render(), "s": Render(until="false"), "l": render}
    collector = browser(total=60.0, looks=lambda host: looks[host[0]])
    await page(collector, stage.url("/other", "first.test"))
    other = asyncio.create_task(
        collector.collect(Request(stage.url("/other", "stays.test")), {})  # a page that stays open
    )
    memory = collector._now.memory
    samples = memory.samples
    with counted_turns() as turns:
        lost = await failure(collector, stage.url("/", "large.test"))
    assert (lost.reason, lost.final) == ("too-complex", True)
    assert memory.samples - samples > turns() / 5
    print(f"{way}: at most {memory.peak >> 20} MiB")
    assert MAX_BYTES // 2 < memory.peak < 1 << 30
    assert not other.done()
    assert b"<p>x</p>" in (await page(collector, stage.url("/other", "first.test"))).body
    other.cancel()
    await asyncio.wait([other])


FETCHES = {
    "fetch": "for (let n = 0; n < 300; n++) fetch('/n' + n).catch(() => 0)",
    "scripts": (
        "for (let n = 0; n < 300; n++) {"
        " const one = document.createElement('script'); one.src = '/n' + n; document.head.append(one) }"
    ),
    "worker": (
        "const code = 'for (let n = 0; n < 300; n++) fetch(`${origin}/n` + n).catch(() => 0)';"
        " new Worker(URL.createObjectURL(new Blob([`const origin = '${location.origin}';` + code])))"
    ),
}


@pytest.mark.parametrize("way", FETCHES)
async def test_the_requests_of_a_page_to_its_own_host_are_bounded(
    stage: Stage, browser: Make, way: str
) -> None:
    stage.pages["/"] = f"<!doctype html><script>{FETCHES[way]}</script><p>x</p>"
    stage.pages |= {f"/n{n}": (200, {"content-type": "text/javascript"}, "1") for n in range(300)}
    collector = browser(requests=40, looks=lambda _: Render("idle"))
    got = await page(collector, stage.url())
    assert b"<p>x</p>" in got.body
    assert sum(path.startswith("/n") for path in stage.paths()) == 40
    assert got.console == ("gossamer: 300 requests to its own host, of which 40 were allowed",)
