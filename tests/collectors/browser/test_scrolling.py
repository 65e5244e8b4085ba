"""A page with `scroll` is scrolled wherever it scrolls, and its record contains all rows that were in it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from turbohtml import parse

from collectors.browser.conftest import IN_MODULE, Shared, Stage, page
from collectors.browser.test_shadowed_names import OF_DOCUMENTS, OF_FORMS
from gossamer.collectors.browser.scrolling import FIRST_WAIT_S, Patience
from gossamer.model.page import Page
from gossamer.model.rendering import Render, Scroll, read_rendering
from support.scrolled_lists import ListServer, ScrolledList, generated, row_numbers, serving_lists

pytestmark = IN_MODULE

QUICK = [
    replace(one, delay=min(one.delay, 0.1))
    for one in generated()
    if one.name.endswith("-05") or one.name == "virtual-0"
]
ENDLESS = [one for one in generated() if one.rows is None]


@pytest.fixture(scope="module")
def lists() -> Iterator[ListServer]:
    with serving_lists([*QUICK, *ENDLESS]) as server:
        yield server


async def scrolled(
    shared: Shared, lists: ListServer, one: ScrolledList, path: str = "/{}/", **more: object
) -> Page:
    """Fetch the page of a list with scrolling."""
    lists.forget()
    press = {"press": ".more"} if one.kind == "button" else {}
    shared.looks[f"{one.name}.test"] = read_rendering({"scroll": {**press, **more} or True})
    port = lists.url.rpartition(":")[2]
    return await page(shared.collector, f"http://{one.name}.test:{port}{path.format(one.name)}")


def rows_of(got: Page, one: ScrolledList) -> list[int]:
    """Return the numbers of the rows in the page, in their order."""
    return row_numbers(one.name, re.findall(r'href="([^"]*)"', got.body.decode()))


def without_scripts(got: Page) -> str:
    return re.sub(r"<script>.*?</script>", "", got.body.decode(), flags=re.DOTALL)


@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.name)
async def test_all_rows_of_a_list_are_in_the_record(
    shared: Shared, lists: ListServer, one: ScrolledList
) -> None:
    got = await scrolled(shared, lists, one)
    assert one.rows is not None
    assert rows_of(got, one) == list(range(one.rows))
    assert (got.console, got.late) == ((), "")


async def test_several_pages_are_scrolled_at_the_same_time(
    shared: Shared, lists: ListServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tabs that are in the background draw their lists too."""
    monkeypatch.setattr(shared.collector, "_total", 90.0)
    found = await asyncio.gather(*(scrolled(shared, lists, one) for one in QUICK[:3]))
    assert [got.console for got in found] == [(), (), ()]
    assert [rows_of(got, one) for got, one in zip(found, QUICK, strict=False)] == [
        list(range(one.rows or 0)) for one in QUICK[:3]
    ]


@pytest.mark.parametrize("one", ENDLESS, ids=lambda one: one.name)
async def test_an_endless_list_ends_with_its_bound(
    shared: Shared, lists: ListServer, one: ScrolledList
) -> None:
    got = await scrolled(shared, lists, one, steps=12)
    found, sent = rows_of(got, one), len(lists.sent(one.name)) + one.first
    assert found == list(range(len(found)))
    assert len(found) > one.first + one.batch
    assert one.kind == "virtual" or len(found) == sent
    assert got.console == ("gossamer: scrolling ended after 12 steps, before the end of the page",)
    assert got.late == ""


async def test_the_seconds_bound_it_too(shared: Shared, lists: ListServer) -> None:
    began = time.monotonic()
    got = await scrolled(shared, lists, ENDLESS[0], seconds=1)
    assert rows_of(got, ENDLESS[0])
    assert re.fullmatch(r"gossamer: scrolling ended after \d+ steps, because its time was over", *got.console)
    assert time.monotonic() - began < 15


async def test_the_size_bounds_it_too(stage: Stage, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared.collector, "_wire", 200_000)
    stage.pages["/"] = (
        "<!doctype html><p>x</p><script>addEventListener('scroll', () => { for (let n = 0; n < 9; n++)"
        " document.body.insertAdjacentHTML('beforeend', `<div style='height:300px'>${'long '.repeat(900)}</div>`) });"
        " document.body.style.height = '4000px'</script>"
    )
    shared.looks["large.test"] = Render(scroll=Scroll())
    got = await page(shared.collector, stage.url(host="large.test"))
    assert re.fullmatch(
        r"gossamer: scrolling ended after \d+ steps, because the page became too large", *got.console
    )


async def test_lazy_frames_are_loaded_and_scrolled(stage: Stage, shared: Shared) -> None:
    inner = (
        "<!doctype html><div id=list></div><script>let n = 0; const add = () => { for (let k = 0; k < 10 && n < 50; k++)"
        " list.insertAdjacentHTML('beforeend', `<p style='height:60px;margin:0'>Framed ${n++}</p>`) }; add();"
        " addEventListener('scroll', () => setTimeout(add, 50))</script>"
    )
    below = "<div style='height:7000px'>above</div><iframe loading=lazy src={} width=600 height=400></iframe>"
    stage.pages |= {
        "/": f"<!doctype html>{below.format('/inner')}<div style='height:4000px'>after</div>",
        "/far": f"<!doctype html>{below.format(stage.url('/other', 'other.test'))}",
        "/inner": inner,
        "/other": "<p>From another site</p>",
    }
    shared.looks["frames.test"] = Render(scroll=Scroll())
    got = await page(shared.collector, stage.url(host="frames.test"))
    assert re.findall(r"Framed (\d+)", without_scripts(got)) == [str(n) for n in range(50)]
    await page(shared.collector, stage.url("/far", "frames.test"))
    assert "/other" in stage.paths()


SIDEWAYS = (
    "<!doctype html><div id=box style='width:600px;overflow-x:auto;scroll-behavior:smooth'><div id=list style='display:flex;width:max-content'></div></div>"
    "<script>let n = 0; const add = () => { for (let k = 0; k < 8 && n < 40; k++)"
    " list.insertAdjacentHTML('beforeend', `<b style='width:200px'>Card ${n++}</b>`) }; add();"
    " box.addEventListener('scroll', () => { if (box.scrollWidth - box.scrollLeft - box.clientWidth < 2) setTimeout(add, 100) })</script>"
)
IN_SHADOW = (
    "<!doctype html><x-list></x-list><script>const root = document.querySelector('x-list').attachShadow({mode: 'open'});"
    " root.innerHTML = `<div id=box style='height:300px;overflow:auto'><div id=list style='position:relative;height:4000px'></div></div>`;"
    " const box = root.getElementById('box'), list = root.getElementById('list'); const draw = () => { list.replaceChildren();"
    " for (let n = Math.floor(box.scrollTop / 40), end = Math.min(100, n + 8); n < end; n++) list.insertAdjacentHTML('beforeend',"
    " `<p style='position:absolute;margin:0;height:40px;top:${n * 40}px'>Card ${n}</p>`) }; draw(); box.addEventListener('scroll', draw)</script>"
)
TABLE = (
    "<!doctype html><div id=box style='height:300px;overflow:auto;overflow-anchor:none'><table><tbody id=list></tbody></table></div><script>"
    " const pool = []; for (let k = 0; k < 12; k++) { list.insertAdjacentHTML('beforeend', `<tr style='height:40px'><td>x</td><td>same</td></tr>`); pool.push(list.lastElementChild) }"
    " const before = document.createElement('tr'); before.innerHTML = '<td></td>'; list.prepend(before);"
    " const after = document.createElement('tr'); after.innerHTML = '<td></td>'; list.append(after);"
    " const draw = () => { const first = Math.min(88, Math.max(0, Math.floor(box.scrollTop / 40) - 2)); before.style.height = first * 40 + 'px';"
    " after.style.height = (88 - first) * 40 + 'px'; pool.forEach((one, k) => { one.firstChild.firstChild.data = 'Card ' + (first + k) }) };"
    " draw(); box.addEventListener('scroll', draw)</script>"
)


async def test_lists_in_frames_of_other_origins_are_scrolled(stage: Stage, shared: Shared) -> None:
    """A list that loads rows stands in a frame, and a list of recycled rows in a frame of that frame."""
    frame = "<iframe loading=lazy width=600 height=400 src={}></iframe>"
    rows = (
        "<!doctype html><div id=list></div><script>let n = 0; const add = () => { for (let k = 0; k < 10 && n < 50; k++)"
        " list.insertAdjacentHTML('beforeend', `<p style='height:60px;margin:0'>Framed ${n++}</p>`) }; add();"
        " addEventListener('scroll', () => setTimeout(add, 50))</script>"
    )
    stage.pages |= {
        "/": f"<!doctype html><p style='height:3000px'>above</p>{frame.format(stage.url('/rows', 'two.test'))}",
        "/rows": rows + frame.format(stage.url("/table", "three.test")),
        "/table": TABLE,
    }
    shared.looks["shop.test"] = Render(scroll=Scroll())
    got = await page(shared.collector, stage.url(host="shop.test"))
    shown = without_scripts(got)
    assert re.findall(r"Framed (\d+)", shown) == [str(n) for n in range(50)]
    assert re.findall(r"Card (\d+)", shown) == [str(n) for n in range(100)]
    assert (got.console, got.late) == ((), "")


async def test_a_button_in_a_frame_of_another_origin_is_pressed(stage: Stage, shared: Shared) -> None:
    stage.pages |= {
        "/": f"<!doctype html><p>x</p><iframe height=400 src={stage.url('/rows', 'two.test')}></iframe>",
        "/rows": "<!doctype html><ul></ul><button class=more>More</button><script>let n = 0; const more = document.querySelector('.more');"
        " more.onclick = () => setTimeout(() => { document.querySelector('ul').insertAdjacentHTML('beforeend', `<li>Row ${++n}`);"
        " if (n == 5) more.remove() }, 50)</script>",
    }
    shared.looks["shop.test"] = Render(scroll=Scroll(press=".more"))
    got = await page(shared.collector, stage.url(host="shop.test"))
    assert re.findall(r"Row (\d+)", without_scripts(got)) == [str(n) for n in range(1, 6)]


@pytest.mark.parametrize(("made", "count"), [(SIDEWAYS, 40), (IN_SHADOW, 100), (TABLE, 100)])
async def test_boxes_of_other_kinds(stage: Stage, shared: Shared, made: str, count: int) -> None:
    stage.pages["/"] = made
    shared.looks["kinds.test"] = Render(scroll=Scroll())
    got = await page(shared.collector, stage.url(host="kinds.test"))
    assert re.findall(r"Card (\d+)", without_scripts(got)) == [str(n) for n in range(count)]


async def test_the_page_itself_is_not_changed_and_rows_taken_away_are_not_kept(
    stage: Stage, shared: Shared
) -> None:
    stage.pages["/"] = (
        "<!doctype html><ul></ul><p id=seen></p><script>const list = document.querySelector('ul'); let changes = 0;"
        " for (let n = 0; n < 60; n++) list.insertAdjacentHTML('beforeend', `<li style='height:50px'>Row ${n}</li>`);"
        " list.insertAdjacentHTML('beforeend', '<li id=wait>Please wait</li>');"
        " onload = () => new MutationObserver(found => changes += found.length).observe(document, {subtree: true, childList: true, attributes: true});"
        " addEventListener('scroll', () => { if (innerHeight + scrollY >= document.documentElement.scrollHeight - 2)"
        " setTimeout(() => { if (!document.title) { document.title = 'changes ' + changes; document.getElementById('wait').remove() } }, 100) })</script>"
    )
    shared.looks["plain.test"] = Render(scroll=Scroll())
    got = parse((await page(shared.collector, stage.url(host="plain.test"))).body.decode())
    assert [one.text for one in got.select("li")] == [f"Row {n}" for n in range(60)]
    assert got.select("title")[0].text == "changes 0", "only the page changes itself"


async def test_names_of_the_page_hide_no_property_while_it_is_scrolled(stage: Stage, shared: Shared) -> None:
    names = [
        *OF_FORMS,
        "scrollTop",
        "scrollHeight",
        "clientHeight",
        "children",
        "parentNode",
        "click",
        "isConnected",
    ]
    fields = "".join(f"<input name={name}>" for name in names)
    images = "".join(f"<img name={name}>" for name in (*OF_DOCUMENTS, "gossamer", "scrolling"))
    stage.pages["/"] = (
        f"<!doctype html>{images}<form id=box style='height:300px;overflow:auto'>{fields}<div id=list style='position:relative;height:8000px'></div></form>"
        "<script>const box = document.getElementById('box'), list = document.getElementById('list'), above = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollTop').get;"
        " const draw = () => { list.replaceChildren(); const at = above.call(box);"
        " for (let n = Math.floor(at / 40), end = Math.min(200, n + 9); n < end; n++) list.insertAdjacentHTML('beforeend',"
        " `<p style='position:absolute;margin:0;height:40px;top:${n * 40}px'>Card ${n}</p>`) }; draw(); box.addEventListener('scroll', draw)</script>"
    )
    shared.looks["names.test"] = Render(scroll=Scroll())
    got = await page(shared.collector, stage.url(host="names.test"))
    assert set(re.findall(r"Card (\d+)", without_scripts(got))) >= {str(n) for n in range(185)}
    assert got.console == ()


async def test_a_person_presses_with_the_mouse(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = (
        "<!doctype html><ul><li>Row 0 true</ul><button class=more>More</button><script>let n = 0; const more = document.querySelector('.more');"
        " more.onclick = event => setTimeout(() => { document.querySelector('ul').insertAdjacentHTML('beforeend', `<li style='height:300px'>Row ${++n} ${event.isTrusted}`);"
        " if (n == 5) more.remove() }, 50)</script>"
    )
    for host, trusted in (("person.test", "true"), ("machine.test", "false")):
        shared.looks[host] = read_rendering({"human": trusted == "true", "scroll": {"press": ".more"}})
        got = parse((await page(shared.collector, stage.url(host=host))).body.decode())
        assert [one.text.split() for one in got.select("li")][1:] == [
            ["Row", str(n), trusted] for n in range(1, 6)
        ]


async def test_a_page_that_leaves_while_it_is_scrolled_is_followed(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = "<p style='height:9000px'>x</p><script>addEventListener('scroll', () => { location = '/there' })</script>"  # fmt: skip
    shared.looks["leaves.test"] = Render(scroll=Scroll())
    got = await page(shared.collector, stage.url(host="leaves.test"))
    assert (got.status, got.header("location")) == (302, stage.url("/there", "leaves.test"))


async def test_the_wait_adapts() -> None:
    patience = Patience()
    assert patience.seconds == FIRST_WAIT_S
    for _ in range(3):
        patience.learn(0.01)
    assert patience.seconds < 0.2
    patience.learn(2.0)
    assert 4.0 < patience.seconds < 4.5
