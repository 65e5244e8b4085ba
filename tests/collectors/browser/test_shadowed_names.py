"""Pages may name form fields and images like properties of the DOM, and may replace the objects of scripts.
gossamer reads such pages whole. If a page cannot be read at all, the visit fails like any other visit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from collectors.browser.conftest import IN_MODULE, Shared, Stage, failure, page
from gossamer.collectors.browser import document, firefox_requests, tab
from gossamer.model.rendering import Render, Scroll
from support.repetitions import ALL

pytestmark = IN_MODULE

OF_FORMS = (
    *("childNodes", "shadowRoot", "nodeType", "localName", "namespaceURI", "ownerDocument", "baseURI"),
    *("append", "appendChild", "hasAttribute", "getAttribute", "setAttribute", "attributes", "getRootNode"),
    *("outerHTML", "querySelectorAll", "textContent", "tagName", "contains", "elements", "action", "href"),
)
OF_DOCUMENTS = (
    *("implementation", "documentElement", "body", "URL", "baseURI", "doctype", "querySelectorAll", "head"),
    *("createElement", "importNode", "scrollingElement", "characterSet", "defaultView", "nodeType"),
)
END = "<iframe srcdoc='<p>framed</p>'></iframe><x-card></x-card><a href=/end>end</a>"
SHADOW = "<script>document.getElementsByTagName('x-card')[0].attachShadow({mode: 'open'}).innerHTML = '<p>in shadow</p>'</script>"


def form(names: Sequence[str]) -> str:
    fields = "".join(f"<input name={name}>" for name in names)
    return f"<!doctype html><title>t</title><form action=/to><p>inner</p>{fields}<input name=q></form>{END}{SHADOW}"


def images(names: Sequence[str]) -> str:
    named = "".join(f"<img name={name}><img name={name}><form name={name}></form>" for name in names)
    return f"<!doctype html><title>t</title><p>inner</p>{named}{END}{SHADOW}"


async def test_names_of_the_page_hide_no_property(stage: Stage, shared: Shared) -> None:
    """A page has several of the names, and in `./test --all` one of them."""
    together = 1 if ALL else 7
    fields, pictures = (
        [names[n : n + together] for n in range(0, len(names), together)]
        for names in (OF_FORMS, OF_DOCUMENTS)
    )
    stage.pages |= {f"/form/{n}": form(names) for n, names in enumerate(fields)}
    stage.pages |= {f"/images/{n}": images(names) for n, names in enumerate(pictures)}
    inputs = {f"/form/{n}": len(names) + 1 for n, names in enumerate(fields)}
    inputs |= {f"/images/{n}": 0 for n in range(len(pictures))}
    for path, count in inputs.items():
        body = (await page(shared.collector, stage.url(path))).body
        missing = [text for text in (b"inner", b"framed", b"in shadow", b">end</a>") if body.count(text) < 1]
        assert not missing, stage.pages[path]
        assert body.count(b"<input") == count, stage.pages[path]


async def test_scripts_of_the_page_change_nothing_of_ours(stage: Stage, shared: Shared) -> None:
    """A page replaces what gossamer's scripts use, also the functions that scroll."""
    hostile = (
        "for (const kind of [Node, Element, Document, HTMLIFrameElement, HTMLSlotElement, Performance, Window])"
        " for (const name of Object.getOwnPropertyNames(kind.prototype))"
        " try { Object.defineProperty(kind.prototype, name, {get() { throw new Error('mine ' + name) }}) } catch {}"
        " for (const name of ['URL', 'XMLSerializer', 'Object', 'Reflect', 'Map', 'scrollTo', 'matchMedia', 'performance'])"
        " try { Object.defineProperty(window, name, {get() { throw new Error('mine ' + name) }}) } catch {}"
        " Array.prototype[Symbol.iterator] = () => { throw new Error('mine') }"
    )
    shared.looks["hostile.test"] = Render(scroll=Scroll())
    stage.pages["/"] = (
        f"<!doctype html><noscript>off</noscript><p style='height:3000px'>inner</p>{END}{SHADOW}<script>{hostile}</script>"
    )
    got = await page(shared.collector, stage.url(host="hostile.test"))
    assert [text in got.body for text in (b"inner", b"framed", b"in shadow", b">end</a>", b"off")] == [
        *([True] * 4),
        False,
    ]
    assert got.late == ""


async def test_a_page_that_cannot_be_walked_is_read_as_the_browser_writes_it(
    stage: Stage, shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.pages["/"] = "<p>whole</p><a href=x>x</a>"
    broken = "// a comment\n(most, mark, inner) => { throw new Error('no walk') }"
    monkeypatch.setattr(tab, "reading_script", lambda: broken)
    got = await page(shared.collector, stage.url())
    assert b'<p>whole</p><a href="x">x</a>' in got.body


async def test_an_exception_is_a_failed_visit(
    stage: Stage, shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.pages |= {"/": "<p>x</p>", "/next": "<p>next</p>"}

    async def outcome(*_: Any) -> None:
        raise KeyError("value")

    with monkeypatch.context() as changed:
        changed.setattr(document.BrowserDocument, "_outcome", outcome)
        got = await failure(shared.collector, stage.url())
    assert (got.reason, got.final) == ("collector", False)
    assert "cannot read the page: KeyError: 'value' (test_shadowed_names.py:" in got.detail
    assert b"next" in (await page(shared.collector, stage.url("/next"))).body, "the browser goes on"


async def test_an_exception_for_a_request_is_a_failed_visit_too(
    stage: Stage, shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.pages["/"] = "<p>x</p>"
    watch = firefox_requests.GeckoWatch if shared.is_firefox else tab.Watch
    monkeypatch.setattr(watch, "_document", lambda *_: int("?"))
    got = await failure(shared.collector, stage.url())
    assert (got.reason, "invalid literal" in got.detail) == ("collector", True)
