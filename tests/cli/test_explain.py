"""`explain`: each skip reason and each place a URL can be in, with the rule that decided."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer import url as urls
from gossamer.cli.tree import run
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.keys import bucket_of
from gossamer.frontier.store import BUCKETS_SERVER, Store, connect
from gossamer.frontier.verbs import Frontier, Policy
from gossamer.politeness import access
from gossamer.request import Request, pack
from gossamer.visit import Settle

HOST = "127.0.0.1:8081"
OTHER = "spam.example"
POLICY = Policy(delay=0, per_host=100, host_pages=-1)
ROBOTS = b"# ours\nUser-agent: *\nDisallow: /private/\n"


def explained(capsys: pytest.CaptureFixture[str], store: str, *words: str) -> dict[str, Any]:
    assert run(["explain", *words, "--store", store, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def gate(found: dict[str, Any], verdict: str) -> str:
    """The rule of the gate that says so."""
    rules = [one["rule"] for one in found["gates"] if one["verdict"] == verdict]
    assert len(rules) == 1, found["gates"]
    return str(rules[0])


def inside(url: str, act: Callable[[Store], Awaitable[Any]]) -> Any:
    async def work() -> Any:
        store = connect(url)
        await store.open(BUCKETS_SERVER, urls.psl_hash())
        try:
            return await act(store)
        finally:
            await store.close()

    return asyncio.run(work())


async def fill(store: Store) -> None:
    spec = Spec([f"http://{HOST}/"], scope="any", include=[], exclude=[r"\.zip$"], depth=3, user_agent="gossamer/1")
    await Crawls(store).begin("c", spec, [])
    frontier = Frontier(store, "c", POLICY)

    async def add(flags: str, *pages: str) -> None:
        adds: Any = {}
        for page in pages:
            host, entry = pack(Request(page, depth=1))
            mark = urls.fingerprint(urls.canonical(page) or "", store.seed)
            adds.setdefault((bucket_of(host, store.buckets), host, 0, "http", flags, ""), []).extend(
                (*frontier.remainder(mark), entry)
            )
        await frontier.add(adds)

    await add(
        "o", *(f"http://{HOST}/{name}" for name in ("done?b=1&a=2", "late", "dead", "held", "private/x", "image"))
    )
    await add("", f"http://{OTHER}/1", f"http://{OTHER}/2")
    home = bucket_of(HOST, store.buckets)
    robots = next(one for one in (await frontier.claim(home, 1)).claims if one.kind == "robots")
    kept = access.read(ROBOTS, "gossamer")
    settle = Settle(robots.token, "d", since=1)
    await frontier.robots(robots, version=kept.version, holds=10**7, crawl_delay=0, settle=settle, rules=kept.rules)
    for claim in (await frontier.claim(home, 100)).claims:
        name = claim.request.url.rpartition("/")[2].partition("?")[0]
        ends: dict[str, tuple[str, dict[str, int]]] = {
            "done": ("d", {"pages": 1}), "late": ("r", {}), "dead": ("x", {}), "x": ("k", {"skip:robots": 1}), "image": ("d", {"skip:content-type": 1}),
        }  # fmt: skip
        if name in ends and claim.host == HOST:
            action, counts = ends[name]
            await frontier.settle(
                home, [Settle(claim.token, action, wait=60_000, reason="tls", detail="expired yesterday")], counts, {}
            )
    await add("o", f"http://{HOST}/next")


@pytest.fixture
def store(valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GOSSAMER_")]:
        monkeypatch.delenv(name)
    inside(valkey_url, fill)
    folder = tmp_path / ".gossamer" / "c"
    folder.mkdir(parents=True)
    lines = [
        ("done?b=1&a=2", "done", 200, None),
        ("image", "skipped", 200, "content-type"),
        ("late", "retry", 503, "http-5xx"),
    ]
    attempts = [
        {
            "ts": "2026-01-01T00:00:00Z",
            "url": f"http://{HOST}/{path}",
            "attempt": 1,
            "status": status,
            "outcome": outcome,
            "seconds": 0.1,
            "error": error,
        }
        for path, outcome, status, error in lines
    ]
    (folder / "attempts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in attempts) + '{"url": "broken')
    return valkey_url


@pytest.mark.parametrize(
    ("path", "now", "why"),
    [
        ("done?b=1&a=2", "done", "status 200"),
        ("late", "retrying", "after 1 failures, due in"),
        ("dead", "dead", "tls: expired yesterday"),
        ("held", "leased", "token"),
        ("next", "pending", "at priority 0, 0 before it"),
        ("private/x", "done (skipped: robots)", "line 3: Disallow: /private/"),
        ("image", "done (skipped)", "error content-type"),
        ("nobody", "unknown", "no fetched page led to it"),
    ],
)
def test_each_place(store: str, capsys: pytest.CaptureFixture[str], path: str, now: str, why: str) -> None:
    found = explained(capsys, store, f"http://{HOST}/{path}")
    assert found["now"] == now
    assert why in found["why"]


def test_parked_over_budget(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = explained(capsys, store, f"http://{OTHER}/2")
    assert found["now"] == "parked"
    assert "1 pages taken" in gate(found, "budget")


@pytest.mark.parametrize(
    ("words", "reason", "rule"),
    [
        ([f"http://{HOST}/done?a=2&b=1&utm_source=x"], "duplicate", f"met first as http://{HOST}/done?b=1&a=2"),
        ([f"http://{HOST}/private/y"], "robots", "line 3: Disallow: /private/"),
        (["mailto:x@y.example"], "scope", "mailto: is neither http nor https"),
        ([f"http://{HOST}/deep", "--depth", "4"], "depth", "4 links from a seed, --depth is 3"),
        ([f"http://{HOST}/a/b/a/b/a/b/a/b/a/b/a/b"], "trap", "repeat"),
        ([f"http://{HOST}/{'x' * 2100}"], "trap", "at most 2083"),
        (["http://10.1.2.3/"], "private", "10.0.0.0/8"),
        ([f"http://{HOST}/a.zip"], "filter", r"--exclude \.zip$"),
        (["http://joe:secret@other.example/"], "filter", "user name or password"),
        (["http://other.example:9999/"], "filter", "--allow-port 9999"),
    ],
)
def test_each_skip_reason_names_its_rule(
    store: str, capsys: pytest.CaptureFixture[str], words: list[str], reason: str, rule: str
) -> None:
    found = explained(capsys, store, *words)
    assert rule in gate(found, reason)
    assert "secret" not in json.dumps(found)
    if reason != "duplicate":
        assert found["now"] == f"skipped ({reason})"
        assert rule in found["why"]


def test_the_table_for_people(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", f"http://{HOST}/late", "--store", store]) == 0
    out = capsys.readouterr().out
    assert "robots.txt" in out
    assert "http-5xx" in out
    assert run(["explain", "http://[", "--store", store]) == 2
