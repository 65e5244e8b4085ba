"""The preview of a page agrees with the crawl: the crawl fetches exactly the links that the preview
reports as followed."""

from __future__ import annotations

import http.server
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gossamer.app.dry_run import Trial, try_one
from gossamer.app.job import Job
from gossamer.app.page_preview import NOT_SELECTED, NOT_YIELDED
from gossamer.app.runner import crawl
from gossamer.config.settings import Settings
from support.answers import answering

LINKS = (
    "<h1>T</h1><a href=/a>a</a><a href=/b/c>b</a><a href=/b/d.pdf>d</a><a rel=nofollow href=/n>n</a>"
    "<a href=/secret/x>s</a><a href=https://other.example/>o</a><a href=mailto:x@y>m</a>"
)
PAGE = "@site.page(r'^/$')\ndef front(page):\n    yield from page.follow('a[href^=\"/b\"]')\n    yield page.urljoin('/n')\n"


class Front(http.server.BaseHTTPRequestHandler):
    """Serves a front page with links and otherwise empty pages, and records the requested paths."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = {"/": LINKS, "/robots.txt": "User-agent: *\nDisallow: /secret/"}.get(
            self.path, "<p>x"
        ).encode()
        self.send_response(302 if self.path == "/old" else 200)
        self.send_header("Location", "/")
        kind = "text/plain" if self.path == "/robots.txt" else "text/html"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


@pytest.fixture
def host() -> Iterator[str]:
    Front.asked = []
    with answering(Front) as port:
        yield f"127.0.0.1:{port}"


def job_of(folder: Path, host: str, site: str, rest: str, **settings: Any) -> Job:
    file = folder / "a.py"
    seeds = "" if "seeds=" in site else f", seeds=['http://{host}/']"
    file.write_text(f"from gossamer import Site\nsite = Site('a', hosts=['{host}']{seeds}{site})\n{rest}")
    more = {"data": str(folder / "data"), "delay": (0.0, 0.0), "retries": ()} | settings
    return Job(targets=[str(file)], settings=Settings(**more))


def reasons(trial: Trial) -> dict[str, str]:
    assert trial.preview is not None
    every = [*trial.preview.links, *trial.preview.requests]
    return {one.url.partition("://")[2].partition("/")[2]: one.reason for one in every}


@pytest.mark.parametrize(
    ("site", "rest", "settings", "odd"),
    [
        ("", "", {}, {"n": "nofollow", "secret/x": "robots", "": "scope"}),
        (", follow=False", "", {}, {"a": NOT_YIELDED}),
        (", follow=[r'/b/']", "", {}, {"a": NOT_SELECTED, "b/c": ""}),
        (", follow=lambda page: page.follow('h1 + a')", "", {}, {"a": "", "b/c": NOT_SELECTED}),
        ("", PAGE, {}, {"a": NOT_YIELDED, "n": "", "b/c": ""}),
        (", follow=True", PAGE, {}, {"a": "", "n": ""}),
        ("", "", {"exclude": (r"\.pdf$",)}, {"b/d.pdf": "filter", "a": ""}),
        ("", "", {"include": ("/b/",)}, {"a": "filter", "b/d.pdf": ""}),
        ("", "", {"depth": 0}, {"a": "depth"}),
        ("", "", {"ignore_robots": True}, {"secret/x": ""}),
        (", robots=False", "", {}, {"secret/x": ""}),
        ("", "@site.page()\ndef f(page):\n    1 / 0\n", {}, {"a": "parse"}),
    ],
)
async def test_what_is_followed_is_what_is_crawled(
    tmp_path: Path, host: str, site: str, rest: str, settings: dict[str, Any], odd: dict[str, str]
) -> None:
    job = job_of(tmp_path, host, site, rest, **settings)
    trial = await try_one(job, f"http://{host}/")
    found = reasons(trial)
    assert {path: found[path] for path in odd} == odd
    assert set(Front.asked) - {"/robots.txt"} == {"/"}
    Front.asked.clear()
    await crawl(job)
    crawled = set(Front.asked) - {"/robots.txt", "/"}
    assert crawled == {f"/{path}" for path, reason in found.items() if not reason}


async def test_a_redirect_is_read_as_the_crawl_reads_it(tmp_path: Path, host: str) -> None:
    trial = await try_one(job_of(tmp_path, host, "", PAGE), f"http://{host}/old")
    assert trial.preview is not None
    assert (trial.preview.function, reasons(trial)["b/c"]) == ("front", "")


async def test_what_a_function_prints_is_printed_once(
    tmp_path: Path, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = "@site.page()\ndef f(page):\n    print('read')\n    return []\n"
    await try_one(job_of(tmp_path, host, "", rest), f"http://{host}/")
    out, err = capsys.readouterr()
    assert (out + err).count("read") == 1


async def test_a_request_for_a_function_that_is_missing_says_so(tmp_path: Path, host: str) -> None:
    rest = "@site.page(r'^/$')\ndef f(page):\n    yield page.request('/a', use='bock')\n"
    trial = await try_one(job_of(tmp_path, host, "", rest), f"http://{host}/")
    assert trial.preview is not None
    (request,) = trial.preview.requests
    assert (request.followed, request.read_by) == (True, "")
    assert request.rule == "site a has no page function 'bock': its page will not be parsed"
