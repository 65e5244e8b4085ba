"""Steps get what a person gets, with the same words in Chromium and in Firefox. A step that fails is named with
what was there instead."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from collectors.browser.conftest import IN_MODULE, Shared, Stage, page
from gossamer.model import rendering
from gossamer.model.page import Page
from gossamer.model.request import Request

pytestmark = IN_MODULE

CLICKED = "<p id=log></p><script>const log = (text) => { document.getElementById('log').textContent += text + ' ' }</script>"


NO_ANSWER = "did not answer"


def asked(stage: Stage, shared: Shared, *steps: Any, path: str = "/", **more: Any) -> Request:
    """Return a request for a page with steps. Its host is not an address, so that frames of the address are
    elsewhere."""
    shared.looks["site.test"] = rendering.read_rendering({"steps": steps} | more)
    return Request(stage.url(path, "site.test"))


async def stepped(stage: Stage, shared: Shared, *steps: Any, path: str = "/", **more: Any) -> Page:
    """Return the page after steps."""
    return await page(shared.collector, asked(stage, shared, *steps, path=path, **more).url)


async def failed(stage: Stage, shared: Shared, *steps: Any, path: str = "/") -> str:
    """Return the message of the last of the steps, which fails, without the URL of the page. On a slow machine, the
    steps before it get more time."""
    total = shared.collector._total
    try:
        for seconds in (2.5, 8.0, 24.0):
            shared.collector._total = seconds
            got = await shared.collector.collect(asked(stage, shared, *steps, path=path), {})
            if (
                isinstance(got, Page)
                and got.late.startswith(f"step {len(steps)} ")
                and NO_ANSWER not in got.late
            ):
                break
    finally:
        shared.collector._total = total
    assert isinstance(got, Page), got
    assert got.console[-1] == f"gossamer: {got.late}"
    return got.late.replace(stage.url("", "site.test"), "")


# --- frames

CONSENT = (
    "<!doctype html><body style='margin:0'><p style='height:1500px'>policy</p>"
    "<button id=yes onclick=\"parent.postMessage('agreed', '*')\">Accept</button><button>Refuse</button>"
)
FRAMED = (
    CLICKED
    + "<p style='height:900px'>before</p><iframe id=consent src='{src}' style='border:7px solid; padding:11px; width:300px'></iframe>"
    "<script>addEventListener('message', (event) => log(event.data))</script>"
)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same origin", "other origin"])
async def test_a_consent_button_inside_a_frame(stage: Stage, shared: Shared, elsewhere: bool) -> None:
    src = stage.url("/consent") if elsewhere else "/consent"
    stage.pages |= {"/": FRAMED.replace("{src}", src), "/consent": CONSENT}
    got = await stepped(stage, shared, {"click": "#yes", "frame": "#consent"}, {"wait_text": "agreed"})
    assert (got.late, b">agreed <" in got.body) == ("", True)


async def test_a_frame_in_a_frame_of_another_origin(stage: Stage, shared: Shared) -> None:
    field = "<input id=q oninput=\"top.postMessage(this.value, '*')\"><p>typed here</p>"
    stage.pages |= {
        "/": FRAMED.replace("{src}", stage.url("/outer")),
        "/outer": f"<p>outer</p><iframe name=inner src={stage.url('/inner', 'other.test')}></iframe>",
        "/inner": field,
    }
    inner = ["#consent", "[name=inner]"]
    got = await stepped(
        stage,
        shared,
        {"wait_text": "typed here", "frame": inner},
        {"type": "#q", "with": "abc", "frame": inner},
        {"wait_text": "abc"},
    )
    assert (got.late, b">a ab abc <" in got.body) == ("", True)


# --- select, fill and keys

FIELDS = (
    CLICKED
    + "<select id=size onchange='log(this.value + event.bubbles)'><option value=''>Choose<option value=s>Small"
    "<option value=l>Large  one<option disabled>None left</select>"
    "<select id=colour onchange='log(this.value)'></select><script>setTimeout(() => {"
    " document.getElementById('colour').innerHTML = '<option>Red<option>Blue' }, 300)</script>"
    "<input id=q value=old oninput='log(this.value)' onkeydown='log(event.key)'>"
    "<textarea id=t></textarea><div id=d contenteditable>old</div><input id=day type=date onchange='log(this.value)'>"
)


async def test_a_select_by_value_and_by_the_words_that_a_person_sees(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = FIELDS
    got = await stepped(
        stage,
        shared,
        {"select": "#size", "with": "l"},
        {"select": "#size", "with": "Small"},
        {"select": "#size", "with": "Large one"},
        {"select": "#colour", "with": "Blue"},
    )
    assert (got.late, b">ltrue strue ltrue Blue <" in got.body) == ("", True)


async def test_fields_and_keys(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = FIELDS
    got = await stepped(
        stage,
        shared,
        {"fill": "#q", "with": "né"},
        {"fill": "#t", "with": "two\nlines"},
        {"fill": "#d", "with": "new"},
        {"fill": "#day", "with": "2026-11-29"},
        {"click": "#q"},
        {"press": "End"},
        {"press": "!"},
        {"press": "Shift+ArrowLeft"},
        {"press": "Delete"},
        {
            "until": "document.getElementById('t').value == 'two\\nlines' && document.getElementById('d').textContent == 'new'"
        },
    )
    log = got.body.decode().partition('<p id="log">')[2].partition("<")[0]
    assert (got.late, log) == ("", "né 2026-11-29 End ! né! Shift ArrowLeft Delete né ")


# --- windows


@pytest.mark.parametrize(
    "opener",
    [
        "<a id=a href=/next target=_blank>n</a>",
        "<base target=_blank><a id=a href=/next><b>n</b></a>",
        "<a id=a href=/next target=_blank rel=noopener onclick='event.stopPropagation()'>n</a>",
        "<form action=/next method=post target=window><button id=a>go</button></form>",
        "<button id=a onclick=\"window.open('/next')\">n</button>",
        "<button id=a onclick=\"const w = window.open('', 'w'); setTimeout(() => { w.location = '/next' }, 100)\">n</button>",
    ],
    ids=["link", "base", "noopener", "form", "open", "open and then lead"],
)
async def test_a_window_that_a_click_opens_is_followed(stage: Stage, shared: Shared, opener: str) -> None:
    stage.pages |= {"/": opener, "/next": "<p id=end>inside</p>"}
    got = await stepped(stage, shared, {"click": "#a"}, {"wait": "#end"})
    assert (got.late, got.url, b"inside" in got.body) == ("", stage.url("/next", "site.test"), True)
    assert stage.paths().count("/next") == 1, "the page is asked for once"


async def test_the_page_is_not_changed_for_a_click(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = (
        CLICKED + "<a id=a href=/next target=_blank onclick='event.preventDefault(); log(1)'>n</a>"
    )
    got = await stepped(stage, shared, {"click": "#a"}, {"until": "/native code/.test(window.open)"})
    assert (got.late, b">1 <" in got.body, b'target="_blank"' in got.body) == ("", True, True)


async def test_a_window_that_is_not_followed_is_said(stage: Stage, shared: Shared) -> None:
    stage.pages |= {
        "/": "<script>const mine = open; open = (url) => mine(url, 'w'); Object.freeze(window)</script>"
        "<button id=a onclick=\"setTimeout(() => Object.assign(document.createElement('a'), {href: '/next', target: '_blank'}).click(), 10)\">n</button>",
        "/next": "<p id=end>inside</p>",
    }
    said = await failed(stage, shared, {"click": "#a"}, {"wait": "#end"})
    assert said.startswith("step 2 of 2 (wait #end): the page has no #end; the page is /")
    assert "the page opened a window with /next, which was closed" in said


async def test_a_window_of_another_host_is_a_redirect(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = f"<a id=a href={stage.url('/next')} target=_blank>n</a>"
    got = await stepped(stage, shared, {"click": "#a"}, {"wait": "#end"})
    assert (got.status, got.location, got.late) == (302, stage.url("/next"), "")
    assert stage.paths() == ["/"]


# --- redirects and waits

LATER = "<p>wait</p><script>setTimeout(() => { location.replace('/real') }, 700)</script>"


async def test_a_redirect_by_a_script_after_the_load(stage: Stage, shared: Shared) -> None:
    stage.pages |= {"/": LATER, "/real": "<p id=end>real</p>"}
    got = await stepped(stage, shared, {"wait": "#end"})
    assert (got.late, got.url, b"real" in got.body) == ("", stage.url("/real", "site.test"), True)
    stage.pages["/to"] = "<a id=a href=/>to</a>"
    got = await stepped(stage, shared, {"click": "#a"}, {"wait_url": "/real$"}, path="/to")
    assert (got.late, got.url, b"real" in got.body) == ("", stage.url("/real", "site.test"), True)


async def test_a_wait_ends_when_the_page_leads_elsewhere(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = LATER
    got = await stepped(stage, shared, wait="#never")
    assert (got.status, got.location, got.late) == (302, stage.url("/real", "site.test"), "")
    assert got.elapsed < 10, "the wait does not take its whole time"


async def test_waits_by_text_by_url_and_by_response(stage: Stage, shared: Shared) -> None:
    stage.pages |= {
        "/": "<x-card></x-card><button>go</button><script>const card = document.querySelector('x-card').attachShadow({mode: 'open'});"
        "document.querySelector('button').onclick = () => { history.pushState(0, '', '/list?q=tea'); fetch('/api').then(r => r.text()).then((text) => {"
        " card.innerHTML = '<p>3  <b>results</b></p>'; fetch('/after') }) }</script>",
        "/api": "x",
        "/after": "x",
    }
    steps = [
        {"click": "button"},
        {"wait_response": "/api$"},
        {"wait_url": "q=tea"},
        {"wait_text": "3 results"},
    ]
    got = await stepped(stage, shared, *steps, {"wait_response": "/after"})
    assert (got.late, got.url) == ("", stage.url("/list?q=tea", "site.test"))


async def test_selectors_reach_into_shadow_roots(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = (
        CLICKED
        + "<x-card class=a></x-card><x-card class=b></x-card><script>for (const card of document.querySelectorAll('x-card'))"
        " card.attachShadow({mode: 'open'}).innerHTML = '<div><button>go</button></div>';"
        "document.querySelector('.b').shadowRoot.querySelector('button').onclick = () => log('b')</script>"
    )
    got = await stepped(stage, shared, {"click": "x-card.b div > button"})
    assert (got.late, b">b <" in got.body) == ("", True)


# --- failures


async def test_each_failure_names_the_step_and_what_was_there(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = (
        "<title>A shop</title><button id=a class=b>One</button><button class=b>Two</button><button class=b hidden>Three</button>"
        "<button id=off disabled>Off</button><i id=gone style='display:none'>x</i><iframe name=ad srcdoc='<p>ad</p>'></iframe>"
        "<div id=wall style='position:fixed;inset:0;background:#fff'>Sign in first</div><select id=s><option>Red<option>Blue</select>"
    )
    here = '; the page is / "A shop", with the frames <iframe name="ad">'
    for step, why in (
        ({"click": "#no"}, "the page has no #no"),
        (
            {"click": ".b"},
            '2 elements of the page match .b, and a step needs one: <button id="a" class="b">One, <button class="b">Two',
        ),
        ({"click": "#a"}, '#a lies under <div id="wall">Sign in first: <button id="a" class="b">One'),
        ({"click": "#off"}, '#off is disabled: <button id="off">Off'),
        ({"hover": "#gone"}, '#gone is not visible: <i id="gone">x'),
        ({"fill": "#a", "with": "s3c"}, '#a is not a field for text: <button id="a" class="b">One'),
        ({"select": "#s", "with": "Green"}, '#s has no option "Green"; its options are Red, Blue'),
        ({"click": "a >> b"}, "a >> b is not a CSS selector"),
        ({"wait_text": "3 results"}, 'the page does not show the text "3 results"'),
        ({"wait_url": "/list"}, "the tab never showed a URL that matches /list"),
        ({"wait_response": "/api"}, "no response matches /api; the last responses are /; "),
        ({"until": "window.shop.ready"}, "window.shop.ready never became true (TypeError: "),
    ):
        said = await failed(stage, shared, {"wait": "p, button"}, step)
        words = rendering.read_actions([step])[0].words()
        assert said.startswith(f"step 2 of 2 ({words}): {why}"), said
        assert said.endswith(here), said
        assert "s3c" not in said
    said = await failed(stage, shared, {"click": "#no", "frame": "[name=ad]"})
    assert (
        said
        == 'step 1 of 1 (click #no in the frame [name=ad]): the frame [name=ad] has no #no; the page is / "A shop"'
    )
    said = await failed(stage, shared, {"click": "p", "frame": "#wall"})
    assert "#wall is not an iframe: <div" in said


async def test_an_element_that_never_comes_to_rest(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = (
        "<button id=a style='position:absolute'>a</button><script>let x = 0; setInterval(() => {"
        " document.getElementById('a').style.left = (x++ % 300) + 'px' }, 4)</script>"
    )
    said = await failed(stage, shared, {"click": "#a"})
    assert said.startswith("step 1 of 1 (click #a): #a does not come to rest: <button")


async def test_a_dialog_that_never_closes(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = "<title>t</title><button id=a onclick='for (;;) alert(\"again\")'>a</button>"
    opened, total = "the page opened a dialog (alert: again), which was dismissed", shared.collector._total
    try:
        for seconds in (4.0, 12.0, 36.0):  # on a slow machine, the page opens no dialog within 4 s
            shared.collector._total = seconds
            got = await shared.collector.collect(asked(stage, shared, {"click": "#a"}, {"wait": "#b"}), {})
            said = got.late if isinstance(got, Page) else got.detail  # Firefox ends the dialogs with the step
            if opened in said:
                break
    finally:
        shared.collector._total = total
    assert "step 1 of 2 (click #a): the scripts of the page did not answer" in said
    assert opened in said


async def test_a_dialog_that_was_dismissed_is_said(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = CLICKED + "<button id=a onclick='log(confirm(\"Are you 18?\"))'>a</button>"
    said = await failed(stage, shared, {"click": "#a"}, {"wait_text": "true"})
    assert said.startswith(
        'step 2 of 2 (wait_text true): the page does not show the text "true"; the page is /'
    )
    assert said.endswith("; the page opened a dialog (confirm: Are you 18?), which was dismissed")


async def test_a_page_that_removes_the_objects_of_scripts(stage: Stage, shared: Shared) -> None:
    """Steps work on a page that shadows and removes what their script uses."""
    hostile = (
        "const log = (text) => { bodyOf.append(text + ' ') }, bodyOf = document.getElementsByTagName('form')[0].parentNode;"
        "for (const kind of [EventTarget, Node, Element, HTMLElement, Document, ShadowRoot, HTMLInputElement, HTMLSelectElement, HTMLOptionElement])"
        " for (const name of Object.getOwnPropertyNames(kind.prototype)) if (!/^(?:append|value|constructor)$/.test(name))"
        " try { delete kind.prototype[name] } catch {}"
        " for (const name of ['JSON', 'Object', 'Reflect', 'Set', 'Math', 'Event', 'ShadowRoot', 'HTMLInputElement', 'open', 'globalThis', 'gossamer'])"
        " try { delete window[name]; Object.defineProperty(window, name, {get() { throw new TypeError('mine') }}) } catch {}"
        " Array.prototype.map = Array.prototype[Symbol.iterator] = () => { throw new TypeError('mine') }"
    )
    names = ("closest", "getAttribute", "childNodes", "elements", "target", "querySelectorAll", "localName")
    fields = "".join(f"<input name={name}>" for name in names)
    stage.pages["/"] = (
        f"<form target=_blank onsubmit='return false'>{fields}<input id=q oninput='log(this.value)'><select id=s onchange='log(this.value)'>"
        f"<option>Red<option>Blue</select><button id=a onclick='log(1)'>a</button></form><img name=elementFromPoint><img name=body><script>{hostile}</script>"
    )
    steps = [{"fill": "#q", "with": "tea"}, {"select": "#s", "with": "Blue"}, {"click": "#a"}]
    got = await stepped(stage, shared, *steps, {"wait_text": "tea Blue 1"})
    assert (got.late, b"tea Blue 1" in got.body) == ("", True)


async def test_elements_are_scrolled_to_and_waited_for(stage: Stage, shared: Shared) -> None:
    stage.pages["/"] = (
        CLICKED
        + "<header style='position:fixed;top:0;height:60%;width:100%;background:#eee'>h</header><p style='height:2000px'></p>"
        "<div style='overflow:auto;height:100px'><p style='height:900px'></p><button id=a onclick=\"log('a')\" disabled>a</button><p style='height:900px'></p></div>"
        "<script>setTimeout(() => { document.getElementById('a').disabled = false }, 400)</script>"
    )
    for human in (False, True):
        got = await stepped(stage, shared, {"click": "#a"}, human=human)
        assert (got.late, b">a <" in got.body) == ("", True)


async def test_pictures_before_and_after_each_step(
    stage: Stage, shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared.collector, "_show", tmp_path)
    stage.pages["/"] = "<button id=a onclick=\"document.body.style.background = 'red'\">a</button>"
    assert "the page has no #no" in await failed(stage, shared, {"click": "#a"}, {"wait": "#no"})
    names = sorted(await asyncio.to_thread(os.listdir, tmp_path))
    assert names == ["01-click-after.png", "01-click-before.png", "02-wait-after.png", "02-wait-before.png"]
    data = [await asyncio.to_thread((tmp_path / name).read_bytes) for name in names]
    assert all(one.startswith(b"\x89PNG") for one in data)
    assert data[0] != data[1]
