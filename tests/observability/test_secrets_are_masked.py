"""No log, metric, attempt, alert, trace or command output contains a secret of a crawl."""

from __future__ import annotations

import base64
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from cli.command_line import begin, gossamer
from support.answers import answering
from support.web_receiver import receiving

CANARY = "c4nary"
SIGNING = base64.b64encode(b"c4nary-signing-key-of-24-bytes").decode()
SITE = """
import logging
from gossamer import Item, Site
site = Site("shop", seeds=[{url!r}], args={{"token": ""}})
class Tea(Item, key="name"):
    name: str
@site.page()
def page(page):
    yield from page.follow("a")
    logging.getLogger("shop").warning("token %s of %s", site.args["token"], page.url)
    if page.url.endswith("bug"):
        raise ValueError("the token is " + site.args["token"])
    yield Tea(name=page.url)
"""


class Shop(BaseHTTPRequestHandler):
    """Pages whose links contain API keys. `/broken` answers 500, and other pages repeat the headers of the
    request."""

    def do_GET(self) -> None:
        links = "".join(f'<a href="/{n}?api_key=c4nary-url-{n}">x</a>' for n in ("ok", "broken", "bug"))
        status = 404 if self.path == "/robots.txt" else 500 if self.path.startswith("/broken") else 200
        body = f'<html>{links}<a href="/bug">b</a><a href="/broken">c</a></html>'
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def test_no_secret_of_a_crawl_is_seen_anywhere(tmp_path: Path) -> None:
    rules = '[rules.GossamerDeadLettersGrow]\nfire = 0\nclear = 0\nfor = "0s"\n'
    (tmp_path / "alerts.toml").write_text(f'interval = "200ms"\ngroup_wait = "0s"\n{rules}')
    with answering(Shop) as port, receiving() as alerts, receiving() as spans:
        (tmp_path / "shop.py").write_text(SITE.format(url=f"http://joe:c4nary-password@127.0.0.1:{port}/"))
        settings = {
            "alerts": f"{alerts.url}/?secret=whsec_{SIGNING}",
            "alert_rules": "alerts.toml",
            "traces": spans.url,
            "trace_sample": "1",
            "retries": "0.1",
        }
        words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        logs = ("--log-format", "json", "--log-level", "debug", "--delay", "0.3")
        secrets = ("-H", "X-Api-Key: c4nary-header", "-a", "token=c4nary-argument")
        crawl = begin(tmp_path, "crawl", "shop.py", "--name", "c", "-o", "o.jsonl", *logs, *words, *secrets)
        out, err = crawl.communicate(timeout=90)
        seen = {
            "log": out + err,
            "metrics": "".join(gossamer(tmp_path, "metrics", "--once")[1:]),
            "attempts": gossamer(tmp_path, "attempts", "c", "--json", "--limit", "0")[1],
            "status": gossamer(tmp_path, "status", "c", "--json")[1],
            "alerts": "".join(call.body.decode() for call in alerts.calls),
            "list of alerts": "".join(gossamer(tmp_path, "alerts", "list", *words)[1:]),
            "traces": "".join(call.body.decode("utf-8", "replace") for call in spans.calls),
            "bugs": "".join(path.read_text() for path in tmp_path.rglob("surprises.log")),
        }
    for place in ("log", "metrics", "attempts", "alerts", "traces"):
        assert seen[place], f"nothing is in {place}: {seen}"
    assert "GossamerDeadLettersGrow" in seen["alerts"]
    assert {json.loads(line)["event"] for line in err.splitlines()} >= {"page_failed", "page_dead"}
    found = {
        place: [line[max(0, line.find(CANARY) - 80) :][:200] for line in text.splitlines() if CANARY in line]
        for place, text in seen.items()
    }
    assert {place: lines for place, lines in found.items() if lines} == {}
    assert not any(SIGNING in text for text in seen.values())
