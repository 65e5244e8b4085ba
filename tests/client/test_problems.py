"""What goes wrong in a crawl is visible from Python: in the log of the program and in `Crawl.errors`."""

from __future__ import annotations

import asyncio
import http.server
import importlib.util
import logging
import re
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.errors import ConfigError, NothingFound
from support.answers import answering

QUICK: gossamer.CrawlOptions = {"delay": 0, "per_host": 8}


class Tea(gossamer.Item):
    number: int


def site_of(shop: str) -> gossamer.Site:
    """Create a site that fails at two pages, and yields a bad item at a third page."""
    site = gossamer.Site("teas", seeds=[f"{shop}/"])

    @site.page("/tea/[12]")
    def broken(page: Any) -> Any:
        yield Tea(number=1)
        raise ZeroDivisionError("no tea")

    @site.page("/tea/3")
    def bad(page: Any) -> Any:
        yield Tea(number="three")  # type: ignore[arg-type] # the mistake of a user

    @site.page()
    def listing(page: Any) -> Any:
        yield Tea(number=0)
        yield from page.follow("a.tea")

    return site


def test_a_page_function_that_raises_is_logged_with_its_traceback(
    shop: str, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = gossamer.crawl(site_of(shop), **QUICK)
    assert [found.number for found in crawl] == [0]
    told = [one for one in caplog.records if one.name == "gossamer.sites"]
    rejected, failed = sorted(told, key=lambda one: one.levelno)
    assert (failed.levelno, rejected.levelno) == (logging.ERROR, logging.WARNING)
    assert "in broken: ZeroDivisionError: no tea" in failed.getMessage()
    assert failed.exc_info is not None
    assert isinstance(failed.exc_info[1], ZeroDivisionError)
    assert "teas: tea: number: Expected `int`, got `str`" in rejected.getMessage()
    item, page = sorted(crawl.errors, key=lambda one: one.kind)
    assert (page.kind, page.count, item.kind, item.count) == ("page", 2, "item", 1)
    assert page.message.startswith("teas: test_problems.py:")
    assert page.message.endswith("in broken: ZeroDivisionError: no tea")
    assert (item.message, item.url) == ("teas: tea: number: Expected `int`, got `str`", f"{shop}/tea/3")


def test_the_result_of_a_run_has_its_problems(shop: str, tmp_path: Path) -> None:
    result = gossamer.run(site_of(shop), data=tmp_path, **QUICK)
    assert [(one.kind, one.count) for one in result.problems] == [("page", 2), ("item", 1)]
    assert "ZeroDivisionError: no tea (2 pages), such as" in str(result.problems[0])


PIDS = """
import os
from pathlib import Path
from gossamer import Site

site = Site("pids", seeds=["{web}/0"], pace="1ms")


@site.page("/fails/.*")
def failing(page):
    Path(r"{folder}", str(os.getpid())).touch()
    raise ZeroDivisionError(f"process {{os.getpid()}}")


@site.page()
def listing(page):
    yield from page.follow("a")
"""


def test_the_tracebacks_of_all_processes_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (pids := tmp_path / "pids").mkdir()

    class Web(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Links to further pages until two processes have failed at one."""
            n = self.path.strip("/")
            more = n.isdigit() and int(n) < 2000 and len([*pids.iterdir()]) < 2
            links = f'<a href="/{int(n) + 1}">n</a><a href="/fails/{n}">f</a>' if more else "none"
            self.send_response(404 if "robots" in n else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(links)))
            self.end_headers()
            self.wfile.write(links.encode())

        def log_message(self, *_: object) -> None: ...

    with answering(Web) as port:
        site = tmp_path / "pids.py"
        site.write_text(PIDS.format(web=f"http://127.0.0.1:{port}", folder=pids))
        gossamer.run(str(site), data=tmp_path / "data", processes=2, per_host=4, depth=5000)
    told = [one for one in caplog.records if one.name == "gossamer.sites" and one.levelno == logging.ERROR]
    texts = [logging.Formatter().format(one) for one in told]
    for pid in pids.iterdir():
        (text,) = (one for one in texts if f"ZeroDivisionError: process {pid.name}" in one)
        assert "Traceback" in text
    assert len(texts) == 2


def test_the_errors_are_there_after_an_exception(shop: str) -> None:
    site = gossamer.Site("teas", seeds=[f"{shop}/tea/1"])
    site.page()(lambda page: 1 / 0)
    crawl = gossamer.crawl(site, **QUICK)
    with pytest.raises(NothingFound):
        list(crawl)
    assert [one.count for one in crawl.errors] == [1]


def test_rejected_elements_of_a_list_are_errors(shop: str) -> None:
    crawl = gossamer.crawl([f"{shop}/tea/1", "nope"], depth=0, **QUICK)
    assert len(list(crawl)) == 1
    assert [str(one) for one in crawl.errors] == ["list[1]: 'nope' is not an http(s) URL"]


async def test_a_crawl_that_waits_for_a_retry_logs_one_line(shop: str, tmp_path: Path) -> None:
    lines, logged = list[str](), asyncio.Event()
    loop = asyncio.get_running_loop()

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())
            loop.call_soon_threadsafe(logged.set)

    log, handler = logging.getLogger("gossamer.crawl"), Lines()
    log.addHandler(handler)
    try:
        run = gossamer.run_async(f"{shop}/busy", data=tmp_path, retries="20m", name="busy", **QUICK)
        task = asyncio.create_task(run)
        await asyncio.wait_for(logged.wait(), 30)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    finally:
        log.removeHandler(handler)
    (line,) = lines
    host = re.escape(shop.removeprefix("http://"))
    waits = rf"busy: 1 URL waits for a retry \({host}: http-5xx\), next in 1\d\d\d s; retries= sets the waits"
    assert re.fullmatch(waits, line)


def test_a_missing_extra_refuses_only_its_output(
    shop: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars

    plain = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pyarrow" else plain(name, *more)
    )
    rows, parts, data = tmp_path / "a.jsonl", tmp_path / "a.parquet", tmp_path / "data"
    with pytest.raises(ConfigError, match="needs pyarrow"):
        gossamer.run(f"{shop}/tea/1", output=parts, data=data, depth=0, **QUICK)
    gossamer.run(f"{shop}/tea/1", output=[rows, parts], data=data, depth=0, **QUICK)
    assert len(rows.read_text().splitlines()) == 1
    assert not parts.exists()
    (line,) = [one.getMessage() for one in caplog.records if one.name == "gossamer.crawl"]
    assert line.startswith(f"{parts} is left out, because it needs pyarrow: ")
    monkeypatch.undo()
    gossamer.run(f"{shop}/tea/1", output=[rows, parts], data=data, depth=0, **QUICK)
    assert len(polars.read_parquet(parts / "*.parquet")) == 1
