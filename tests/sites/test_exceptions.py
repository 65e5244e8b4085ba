"""Any exception of a user's code, except for Ctrl-C, is stored as an error of its page, item or log-in."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Pages, begin, gossamer
from gossamer import Item, Site
from gossamer.errors import ConfigError
from gossamer.model.login import Login
from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.sites import LoadedSite, load
from gossamer.sites.item_builder import ItemBuilder
from gossamer.sites.page_functions import PageResult, gather_follow, run
from support.answers import answering
from worker.test_login_flow import enter
from worker.test_login_flow import page as answer

RAISED = [
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
    RecursionError,
    MemoryError,
    BaseException,
]


class Mug(Item, key="name"):
    name: str


class Hostile:
    """A value whose methods raise an exception of the given kind."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def __str__(self) -> str:
        raise self.kind

    __repr__ = __str__


def site(**more: Any) -> LoadedSite:
    return LoadedSite(Site("s", **more), Path(__file__), "v", {}, False)


def view() -> PageView:
    return PageView(
        Page("https://a.example/", 200, [("content-type", "text/html")], b"<p>x</p>", 0.0, 0.0, 0)
    )


def raising(kind: type[BaseException]) -> Callable[..., Any]:
    def raises(*_: Any) -> Iterator[Any]:
        raise kind("so")

    return raises


@pytest.mark.parametrize("kind", RAISED)
def test_page_functions_follow_and_steps(kind: type[BaseException]) -> None:
    one = site()
    one.site.page(name="f")(raising(kind))
    parsed = run(one, view())
    assert parsed.error == "parse"
    assert f"in raises: {kind.__name__}: so" in parsed.detail
    assert kind.__name__ in (gather_follow(one, raising(kind), view())[1] or "")
    (made,) = ItemBuilder(site(steps=[raising(kind)])).make(PageResult(items=[Mug(name="a")]), view())
    assert made.faults[0].reason == f"step raises: {kind.__name__}: so"


@pytest.mark.parametrize("kind", RAISED)
def test_values_that_raise_and_errors_that_do_not_say_why(kind: type[BaseException]) -> None:
    (made,) = ItemBuilder(site()).make(PageResult(items=[{"name": Hostile(kind)}]), view())
    assert made.faults
    assert made.fields["name"] == "<Hostile>"

    class Odd(Exception):
        def __str__(self) -> str:
            raise kind

    def raises(_: Any) -> None:
        raise Odd

    one = site()
    one.site.page(name="f")(raises)
    assert run(one, view()).detail.endswith("Odd: it gives no reason")


@pytest.mark.parametrize("kind", RAISED)
def test_site_files(kind: type[BaseException], tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(
        f"import asyncio\nraise {kind.__module__.partition('.')[0]}.{kind.__name__}('so')\n".replace(
            "builtins.", ""
        )
    )
    with pytest.raises(ConfigError, match=rf"s.py:2: {kind.__name__}: so"):
        load(tmp_path / "s.py")


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("at", ["call", "first", "second", "end"])
async def test_the_steps_of_a_log_in(kind: type[BaseException], at: str) -> None:
    def steps(_: Any) -> Iterator[Any]:
        if at == "first":
            raise kind("so")
        try:
            yield "https://club.example/in"
            if at == "second":
                raise kind("so")
            yield 5  # not a request, so the generator is closed
        finally:
            if at == "end":
                raise kind("so")

    how = raising(kind) if at == "call" else steps
    with pytest.raises(ConfigError) as caught:
        await enter(Login(how), answer("https://club.example/in"), answer("https://club.example/in"))
    assert ("a request or a URL" if at == "end" else "so") in str(caught.value)


async def test_steps_of_a_log_in_that_do_not_end(capsys: pytest.CaptureFixture[str]) -> None:
    def steps(_: Any) -> Iterator[Any]:
        try:
            print("once")
            yield 5
        except GeneratorExit:
            print("once more")
            yield 5

    with pytest.raises(ConfigError, match="a request or a URL"):
        await enter(Login(steps))
    assert capsys.readouterr().out == ""


def pressed_within(*_: Any) -> Iterator[Any]:
    signal.raise_signal(signal.SIGINT)
    yield {"name": "a"}


@pytest.mark.parametrize("own", [False, True])
def test_ctrl_c_is_for_who_called(own: bool) -> None:
    def handler(*_: Any) -> None:
        raise KeyboardInterrupt

    was = signal.signal(signal.SIGINT, handler if own else signal.default_int_handler)
    try:
        one = site()
        one.site.page(name="f")(pressed_within)
        with pytest.raises(KeyboardInterrupt):
            run(one, view())
        with pytest.raises(KeyboardInterrupt):
            ItemBuilder(site(steps=[lambda item, page: list(pressed_within())])).make(
                PageResult(items=[Mug(name="a")]), view()
            )
    finally:
        signal.signal(signal.SIGINT, was)


SITE = """
from gossamer import Site

site = Site("s", seeds=[SEED], follow=True)


@site.page(name="p")
def p(page):
    if page.url.endswith("/3"):
        raise KINDError("so")
    yield {"_key": page.url, "url": page.url}
"""


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit"])
def test_a_crawl_goes_on(kind: str, processes: str, tmp_path: Path) -> None:
    with answering(Pages) as port:
        (tmp_path / "s.py").write_text(
            SITE.replace("SEED", repr(f"http://127.0.0.1:{port}/")).replace("KINDError", kind)
        )
        words = ("s.py", "-o", "o.jsonl", "--delay", "0", "--processes", processes)
        code, out, err = gossamer(tmp_path, "crawl", *words, "--json", "--quiet")
    told = json.loads(out)
    assert (code, told["state"], told["errors"]) == (0, "finished", {"parse": 1}), err
    assert "Traceback" not in err
    assert (
        len({json.loads(line)["url"] for line in (tmp_path / "o.jsonl").read_text().splitlines()})
        == told["pages"] - 1
    )
    kept = list((tmp_path / ".gossamer" / "s" / "failed").glob("*.json"))
    assert [kind in one.read_text() for one in kept] == [True]
    code, out, err = gossamer(tmp_path, "check", "s.py", "--pages", ".gossamer/s/failed")
    assert (code, f"{kind}: so" in out, err) == (4, True, "")


def test_ctrl_c_stops_a_crawl_whose_functions_raise_it(tmp_path: Path) -> None:
    with answering(Pages) as port:
        (tmp_path / "s.py").write_text(
            SITE.replace("SEED", repr(f"http://127.0.0.1:{port}/"))
            .replace("KINDError", "KeyboardInterrupt")
            .replace('endswith("/3")', 'endswith("")')
        )
        process = begin(tmp_path, "crawl", "s.py", "-o", "o.jsonl", "--delay", "0.3")
        failed = tmp_path / ".gossamer" / "s" / "failed"
        while not failed.is_dir() and process.poll() is None:
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 11, err
    assert "Traceback" not in err
