"""Schedules, explain, map, proxies, rates, alerts and metrics through `gossamer serve`, and what a token with a prefix
sees of them."""

from __future__ import annotations

import http.server
import json
from collections.abc import Iterator
from typing import Any

import pytest

import gossamer
from cli.command_line import PAGES
from cli.command_line import gossamer as command
from gossamer.operations.inputs_of_uses import StartAudit, StartKeywordRun, StartPriceRun
from gossamer.operations.table import OPERATIONS
from operations.service_process import Serving, served_folder, serving
from operations.stored_uses import fill_keywords, fill_prices
from support.answers import answering


def test_explain_says_what_the_command_says(server: Serving, web: str) -> None:
    for path in ("/3", "/secret/", "/nf", "/nothing"):
        code, out, err = command(
            server.folder, "explain", f"{web}{path}", "-s", "allow_private=127.0.0.0/8", "--json"
        )
        assert code == 0, err
        assert server.ask("GET", f"/v1/explain?url={web}{path}").json == json.loads(out)
    told = gossamer.Client(server.url).explain(f"{web}/secret/", crawl="books")
    assert (told.now, told.crawl) == ("done (skipped: robots)", "books")
    assert "Disallow: /secret/" in told.why


def test_explain_looks_at_a_page_with_a_link_as_the_command_does(server: Serving, web: str) -> None:
    words = ["-s", "allow_private=127.0.0.0/8", "--json"]
    code, out, err = command(server.folder, "explain", f"{web}/nf", "--from", f"{web}/", *words)
    assert code == 0, err
    told = server.ask("GET", f"/v1/explain?url={web}/nf&page={web}/")
    assert told.json == json.loads(out)
    assert "nofollow" in told.body.decode()
    inside = server.ask("GET", f"/v1/explain?url={web}/nf&page=http://10.0.0.1/")
    assert (inside.status, inside.json["type"]) == (403, "/problems/private-address")


def test_explain_fetches_nothing_for_a_token_that_may_only_read(tmp_path: Any, web: str) -> None:
    code, out, err = command(tmp_path, "tokens", "add", "--scope", "read")
    assert code == 0, err
    head = {"Authorization": f"Bearer {out.strip()}"}
    with served_folder(tmp_path, "--token-file", "tokens.jsonl") as one:
        answer = one.ask("GET", f"/v1/explain?url={web}/nf&page={web}/", **head)
        assert (answer.status, answer.json["type"]) == (403, "/problems/forbidden")


def test_a_schedule_from_its_first_to_its_last_day(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    added = client.add_schedule("weekly", "0 3 * * mon", targets=[f"{web}/1"], scope="page", delay=0.01)
    assert (added.did, added.next is not None) == ("added", True)
    code, out, err = command(server.folder, "schedule", "list", "--json")
    assert code == 0, err
    (row,) = [one for one in json.loads(out) if one["schedule"] == "weekly"]
    listed = client.schedules()
    assert [one for one in listed.items if one["schedule"] == "weekly"] == [
        {name: value for name, value in row.items() if name != "scheduler"}
    ]
    assert client.pause_schedule("weekly").did == "paused"
    assert [one["state"] for one in client.schedules().items if one["schedule"] == "weekly"] == ["paused"]
    assert client.resume_schedule("weekly").did == "resumed"
    done = client.wait_run(client.run_schedule("weekly").run, timeout=60)
    assert (done.state, done.use) == ("finished", "schedule"), done
    (past,) = client.schedule_runs("weekly")
    assert (past["outcome"], past["by_hand"]) == ("finished", True)
    assert client.status(past["crawl"]).pages == 1
    assert client.add_schedule("weekly", "@daily", targets=[f"{web}/1"]).did == "changed"
    assert client.remove_schedule("weekly").did == "removed"
    with pytest.raises(gossamer.errors.UnknownName):
        client.pause_schedule("weekly")


def test_a_use_by_the_clock(server: Serving, web: str) -> None:
    """Each use is a command of the schedule, as `gossamer schedule add NAME CRON COMMAND` adds it."""
    client = gossamer.Client(server.url)
    (server.folder / "shops.csv").write_text(f"url\n{web}/1\n")
    (server.folder / "words.txt").write_text("kettle\n")
    added = {
        "prices": StartPriceRun(lists=["shops.csv"], delay=0.01),
        "keywords": StartKeywordRun(urls=[f"{web}/1"], lists=["words.txt"]),
        "audit": StartAudit(url=f"{web}/1", limit=2),
    }
    for use, given in added.items():
        assert client.add_schedule(f"each-{use}", "0 3 * * *", **{use: given}).did == "added"
    done = client.wait_run(client.run_schedule("each-prices").run, timeout=120)
    assert done.state == "finished", done
    (past,) = client.schedule_runs("each-prices")
    assert past["outcome"] in ("finished", "failed"), "the command ran: the page has no price"
    assert [one["url"] for one in server.ask("GET", "/v1/prices/failing").json["items"]] == [f"{web}/1"]
    answer = server.ask(
        "POST", "/v1/schedules", {"schedule": "x", "cron": "@daily", "prices": {"lists": ["no.csv"]}}
    )
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (400, "/prices/lists/0")
    both = {"schedule": "x", "cron": "@daily", "targets": [f"{web}/"], "audit": {"url": f"{web}/"}}
    assert "one thing" in server.ask("POST", "/v1/schedules", both).body.decode()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"cron": "0 3 * * mon"}, "no target"),
        ({"cron": "0 3 * * mun", "targets": ["http://a.example/"]}, "mun"),
        ({"cron": "99 3 * * *", "targets": ["http://a.example/"]}, "99"),
        ({"cron": "@daily", "targets": ["http://10.0.0.1/"]}, "10.0.0.0/8"),
        ({"cron": "@daily", "targets": ["http://a.example/"], "tz": "Mars/Base"}, "Mars/Base"),
        ({"cron": "@daily", "sites": ["shp"]}, "did you mean shop?"),
        ({"cron": "@daily", "targets": ["http://a.example/"], "output": "/etc/x"}, "fields are"),
    ],
)
def test_a_wrong_schedule_is_refused(server: Serving, body: Any, said: str) -> None:
    answer = server.ask("POST", "/v1/schedules", {"schedule": "wrong", **body})
    assert answer.status in (400, 403), answer.body
    assert said in answer.json["detail"]
    assert "wrong" not in [one["schedule"] for one in server.ask("GET", "/v1/schedules").json["items"]]


class MappedSite(http.server.BaseHTTPRequestHandler):
    """A site with an index of two sitemaps, one of which is missing."""

    def do_GET(self) -> None:
        base = f"http://{self.headers['Host']}"
        found = {
            "/": '<a href="/linked">x</a><a href="http://other.example/">o</a>',
            "/robots.txt": f"User-agent: *\nSitemap: {base}/index.xml\nSitemap: http://169.254.169.254/s.xml",
            "/index.xml": f"<sitemapindex><sitemap><loc>{base}/a.xml</loc></sitemap>"
            f"<sitemap><loc>{base}/gone.xml</loc></sitemap></sitemapindex>",
            "/a.xml": "<urlset>"
            + "".join(f"<url><loc>{base}/listed/{n}</loc></url>" for n in range(30))
            + "<url><loc>http://other.example/x</loc></url></urlset>",
        }.get(self.path)
        kind = "text/plain" if self.path.endswith(".txt") else "text/html" if self.path == "/" else "text/xml"
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write((found or "none").encode())

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


def test_a_map_has_the_urls_of_sitemaps_and_of_the_first_page(server: Serving) -> None:
    with answering(MappedSite) as port:
        base = f"http://127.0.0.1:{port}"
        found = gossamer.Client(server.url).map(f"{base}/")
        links = {link.url.removeprefix(base): link.source.removeprefix(base) for link in found.links}
        assert links == {"/": "/", "/linked": "/"} | {f"/listed/{n}": "/a.xml" for n in range(30)}
        assert [one.removeprefix(base) for one in found.sitemaps] == ["/index.xml", "/a.xml"]
        assert [*found.problems] == [f"{base}/gone.xml"]
        few = gossamer.Client(server.url).map(f"{base}/", limit=5, search="LISTED/1", pages=0)
        assert (len(few.links), few.complete) == (5, False)
        assert all("/listed/1" in link.url for link in few.links)


def test_a_map_obeys_robots_txt(server: Serving, web: str) -> None:
    found = server.ask("POST", "/v1/map", {"url": f"{web}/secret/", "sitemaps": False}).json
    assert (found["links"], "Disallow: /secret/" in found["problems"][f"{web}/secret/"]) == ([], True)
    found = server.ask("POST", "/v1/map", {"url": f"{web}/", "sitemaps": False, "pages": 2}).json
    assert (
        len(found["links"]) == PAGES + 3
    )  # the first page, its links, and two that robots.txt or nofollow exclude


def test_rates_rungs_alerts_and_metrics(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    assert client.cap_rate("fleet", rate=900.0)["fleet"] == 900.0
    assert client.rates()["fleet"] == 900.0
    assert "fleet" not in client.cap_rate("fleet")
    host = web.removeprefix("http://")
    assert client.fix_rung(host, rung="plain").rung == "plain"
    assert client.host(host).ladder["fixed"] == "plain"
    assert client.fix_rung(host).rung is None
    assert client.host(host).ladder == {}
    muted = client.mute_alerts("GossamerStalled", seconds=60)
    code, out, _ = command(server.folder, "alerts", "list", "--json")
    assert (code, json.loads(out)["mutes"]) == (0, {"GossamerStalled": muted.until})
    assert client.alerts().mutes == {"GossamerStalled": muted.until}
    assert client.unmute_alerts("GossamerStalled").until is None
    with pytest.raises(gossamer.errors.UnknownName, match="did you mean GossamerStalled"):
        client.mute_alerts("GossamerStaled")
    with pytest.raises(gossamer.errors.UnknownName, match="is not muted"):
        client.unmute_alerts("GossamerStalled")
    code, out, _ = command(server.folder, "metrics", "--once")
    names = [
        {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
        for text in (out, client.metrics())
    ]
    assert code == 0
    assert names[0] == names[1]
    assert "gossamer_up 1" in client.metrics()


SECRETS = ("proxypass", "secrettoken", "hooksecret")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, web: str) -> Iterator[tuple[Serving, dict[str, str]]]:
    """A server whose settings have secrets, and its tokens by name."""
    folder = tmp_path_factory.mktemp("guarded")
    for name in ("prices", "red-prices"):
        fill_prices(folder / f"{name}.db")
    fill_keywords(folder / "keywords")
    fill_keywords(folder / "red-words")
    (folder / "proxies.txt").write_text("http://joe:proxypass@127.0.0.7:8080\nsocks5://127.0.0.8:1080\n")
    (folder / "targets.csv").write_text(f"key,url\none,{web}/1\n")
    (folder / "gossamer.toml").write_text("alerts = ['https://hooks.example/hooksecret?token=secrettoken']\n")
    tokens = {}
    for name, words in (("admin", ["--scope", "admin"]), ("red", ["--scope", "run", "--prefix", "red-"])):
        code, out, err = command(folder, "tokens", "add", *words)
        assert code == 0, err
        tokens[name] = out.strip()
    with served_folder(folder, "--token-file", "tokens.jsonl") as server:
        for name in ("red-1", "blue-1"):
            given = {"targets": [f"{web}/1"], "scope": "page", "name": name, "wait": 60, "text": True}
            head = {"Authorization": f"Bearer {tokens['admin']}"}
            assert server.ask("POST", "/v1/crawls", given, **head).status == 202
        yield server, tokens


def test_proxies_are_listed_and_no_answer_contains_a_secret(guarded: tuple[Serving, dict[str, str]]) -> None:
    first, tokens = guarded
    head = {"Authorization": f"Bearer {tokens['admin']}"}
    with serving(first.folder, "--token-file", "tokens.jsonl", "-s", "proxies=proxies.txt") as server:
        found = list(gossamer.Client(server.url, tokens["admin"]).proxies())
        assert [one.proxy.partition("#")[0] for one in found] == ["127.0.0.7:8080", "127.0.0.8:1080"]
        assert {(one.listed, one.scheme, one.state) for one in found} == {
            (True, "http", "unused"),
            (True, "socks5", "unused"),
        }
        assert "joe" not in repr(found)
        check_answers(server, head)


def check_answers(server: Serving, head: dict[str, str]) -> None:
    for operation in OPERATIONS:
        if operation.method == "GET" and not operation.in_path:
            body = server.ask("GET", operation.path, **head).body.decode()
            assert not [one for one in SECRETS if one in body], operation.name


def test_a_prefix_holds_for_histories_runs_and_texts(
    guarded: tuple[Serving, dict[str, str]], web: str
) -> None:
    server, tokens = guarded
    head = {"Authorization": f"Bearer {tokens['red']}"}

    def status(path: str) -> int:
        return server.ask("GET", f"/v1/{path}", **head).status

    assert (status("prices/moves?history=red-prices"), status("prices/moves")) == (200, 404)
    assert (status("keywords/totals?folder=red-words"), status("keywords/totals")) == (200, 404)
    assert b"red-prices" in server.ask("GET", "/v1/prices/moves?history=x", **head).body
    assert b"'prices'" not in server.ask("GET", "/v1/prices/moves?history=x", **head).body
    texts = server.ask("GET", "/v1/find?query=title:t", **head).json
    assert {one["crawl"] for one in texts["results"]} == {"red-1"}
    assert (status("find?query=t&crawl=blue-1"), status("explain?url=http://x.example/&crawl=blue-1")) == (
        404,
        404,
    )
    explained = server.ask("GET", f"/v1/explain?url={web}/1", **head).json
    assert explained["crawl"] == "red-1"
    for body, pointer in (({"urls": [f"{web}/1"]}, "/history"), ({"lists": ["targets.csv"]}, "/history")):
        refused = server.ask("POST", "/v1/prices/runs", body, **head)
        assert (refused.status, refused.json["errors"][0]["pointer"]) == (400, pointer)
    refused = server.ask("POST", "/v1/prices/runs", {"lists": ["targets.csv"], "history": "red-x"}, **head)
    assert (refused.status, refused.json["errors"][0]["pointer"]) == (400, "/lists/0")
    refused = server.ask("POST", "/v1/audits", {"url": f"{web}/"}, **head)
    assert (refused.status, refused.json["errors"][0]["pointer"]) == (400, "/audit")
    given = {"url": f"{web}/", "audit": "red-audit", "crawl": "blue-1"}
    assert server.ask("POST", "/v1/audits", given, **head).status == 404
    run = server.ask("POST", "/v1/prices/runs", {"urls": [f"{web}/1"], "history": "red-x"}, **head).json
    assert run["run"].startswith("red-prices-")
    whole = server.ask("GET", "/v1/runs", Authorization=f"Bearer {tokens['admin']}").json["items"]
    mine = server.ask("GET", "/v1/runs", **head).json["items"]
    assert [one["run"] for one in mine] == [run["run"]] == [one["run"] for one in whole]
    given = {"urls": [f"{web}/1"], "history": "blue"}
    other = server.ask("POST", "/v1/prices/runs", given, Authorization=f"Bearer {tokens['admin']}").json
    assert server.ask("GET", f"/v1/runs/{other['run']}", **head).status == 404
    assert server.ask("POST", f"/v1/runs/{other['run']}/stop", **head).status == 404
    for path in ("schedules", "proxies", "sessions", "alerts", "metrics", "rates"):
        assert status(path) == 403, path


def test_no_request_met_a_bug(server: Serving, guarded: tuple[Serving, dict[str, str]]) -> None:
    """The last test of the file."""
    assert "a bug" not in server.said + guarded[0].said
