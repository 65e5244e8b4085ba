"""Tests of the reports of blocks by `crawl`, `explain`, `host show` and `try`, and of a site file that
decides itself which pages are blocks."""

from __future__ import annotations

import http.server
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from blocks.block_pages import AKAMAI, SORRY, page
from gossamer.cli.commands import run
from support.answers import answering

LINK = '<a href="/hidden">more</a>'
PAGES: dict[str, tuple[int, bytes]] = {
    "/": (
        200,
        page(
            "Kettles of all kinds",
            "".join(
                f'<a href="/{to}">x</a>'
                for to in ("akamai", "sorry", "forbidden", "club", "kettle", "empty", "late")
            ),
        ),
    ),
    "/akamai": (403, (AKAMAI + LINK).encode()),
    "/sorry": (200, SORRY + LINK.encode()),
    "/forbidden": (403, b"<title>403 Forbidden</title>no"),
    "/club": (200, page("The club of kettles", "<p>For members of the club only.")),
    "/kettle": (200, page("A kettle of one litre", "<p class=price>12.90")),
    "/empty": (200, b""),
    "/late": (200, page("Just a moment...", "<script>window._cf_chl_opt={}</script>")),
}


class Answers(http.server.BaseHTTPRequestHandler):
    """A shop. The first request for `/late` gets a challenge."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        status, body = PAGES.get(self.path, (404, b""))
        if self.path == "/late" and "/late" in self.asked:
            body = page("A late page of kettles", "<p>here it is")
        self.asked.append(self.path)
        self.send_response(status)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[str]:
    Answers.asked.clear()
    with answering(Answers) as port:
        yield f"http://127.0.0.1:{port}"


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    assert run([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_crawl_with_blocks(shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(tmp_path / "data")]
    crawl = [
        "crawl",
        f"{shop}/",
        "--name",
        "c",
        "--delay",
        "0",
        "--retries",
        "10ms",
        "--quiet",
        "-o",
        str(tmp_path / "out.jsonl"),
        "--cache",
        str(tmp_path / "cache"),
    ]
    summary = told(capsys, *crawl, *data)
    assert summary["errors"] == {"blocked": 2, "http-4xx": 1}
    assert (summary["pages"], summary["dead"], summary["retried"]) == (6, 2, 3)
    assert "/hidden" not in Answers.asked  # links of a block page are not followed
    assert Answers.asked.count("/late") == 2  # the block page was not cached
    rows = {row["url"].removeprefix(shop): row["error"] for row in lines(tmp_path / "out.jsonl")}
    assert {path for path, error in rows.items() if error == "blocked"} == {"/akamai", "/sorry"}
    assert rows["/forbidden"] == "http-4xx"
    assert rows["/late"] is None
    attempts = lines(tmp_path / "data" / "c" / "attempts.jsonl")
    met = {
        (line["url"].removeprefix(shop), line["outcome"], (line["block"] or "").partition(" (")[0])
        for line in attempts
    }
    assert {one for one in met if one[2]} == {
        ("/akamai", "retry", "akamai denied"),
        ("/akamai", "dead", "akamai denied"),
        ("/sorry", "retry", "recaptcha captcha"),
        ("/sorry", "dead", "recaptcha captcha"),
        ("/late", "retry", "cloudflare challenge"),
        ("/forbidden", "done", "generic denied"),
        ("/empty", "done", "generic empty"),
    }
    explained = told(capsys, "explain", f"{shop}/akamai", *data)
    assert explained["now"] == "dead"
    assert "blocked: akamai denied (text: reference #18" in explained["why"]
    assert explained["attempts"][-1]["block"].startswith("akamai denied (")
    host = told(capsys, "host", "show", shop.removeprefix("http://"), *data)
    assert len(host["blocks"]) == 3
    assert set(host["blocks"][0]) == {"crawl", "ts", "status", "block", "url"}
    assert run(["host", "show", shop.removeprefix("http://"), *data]) == 0
    assert "recaptcha captcha (" in capsys.readouterr().out


def test_try_shows_the_block(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["try", f"{shop}/sorry"]) == 9
    out, err = capsys.readouterr()
    assert "recaptcha captcha (page: " in out
    assert "blocked" in err


@pytest.mark.parametrize(
    ("word", "errors", "blocks"),
    [
        ("", {"http-4xx": 1, "missing": 1, "blocked": 3}, {"generic missing (must_have: .price)"}),
        (
            "blocks=['members of the club'],",
            {"http-4xx": 1, "blocked": 4},
            {"generic denied (site: members of the club)"},
        ),
        (
            "blocks=['!akamai', '!captcha'],",
            {"http-4xx": 2, "missing": 2, "blocked": 1},
            {"generic missing (must_have: .price)"},
        ),
        ("blocks=False,", {"http-4xx": 2, "missing": 3}, {"generic missing (must_have: .price)"}),
    ],
)
def test_a_site_has_its_own_word(
    shop: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    word: str,
    errors: dict[str, int],
    blocks: set[str],
) -> None:
    site = tmp_path / "kettles.py"
    seeds = [f"{shop}{path}" for path in ("/akamai", "/sorry", "/forbidden", "/club", "/kettle", "/late")]
    site.write_text(
        f"from gossamer import Site\nsite = Site('kettles', seeds={seeds}, {word} must_have='.price', follow=False)\n"
    )
    words = [
        "crawl",
        str(site),
        "--name",
        "c",
        "--delay",
        "0",
        "--retries",
        "none",
        "--quiet",
        "--data",
        str(tmp_path),
    ]
    assert told(capsys, *words)["errors"] == errors
    met = {line["block"] for line in lines(tmp_path / "c" / "attempts.jsonl") if "/club" in line["url"]}
    assert met == blocks
