"""Crawls through proxies. The target server records the address and the cookies of each request, and gets no
direct request."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import job
from gossamer.app.proxy_setup import read_proxy_lists
from gossamer.app.runner import crawl
from gossamer.cli.doctor import proxies as doctored
from gossamer.config.settings import Settings
from gossamer.errors import NoProxyLeft
from support.light_proxies import Light, lights, target
from support.processes import free_port

SECRET = "h0nter2"


def some(*manners: str, secret: str = "", port: int = 0) -> list[Light]:
    port = port or free_port()
    return [Light(f"127.0.8.{n + 1}", port, manner, secret, delay=1.0) for n, manner in enumerate(manners)]


def listed(folder: Path, proxies: list[Light], *more: str) -> str:
    path = folder / "proxies.txt"
    lines = [
        f"{one.secret and one.secret + '@'}{one.address}:{one.port} provider=p{n % 3}"
        for n, one in enumerate(proxies)
    ]
    path.write_text("\n".join([*lines, *more]))
    return str(path)


def attempts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "data" / "c" / "attempts.jsonl").read_text().splitlines()]


async def test_bad_proxies_cost_no_page_and_nothing_is_sent_directly(tmp_path: Path) -> None:
    proxies = some(*["good"] * 9, "dead", "dead", "refuses", "breaks", secret=f"joe:{SECRET}")
    banned = frozenset({"127.0.8.1", "127.0.8.2"})
    async with target(60, banned) as site, lights(*proxies):
        given = {
            "proxies": (listed(tmp_path, proxies, "nonsense"),),
            "per_host": 8,
            "timeout": 3.0,
            "processes": 2,
        }
        summary = await crawl(job([f"http://127.0.0.1:{site.port}/"], tmp_path, **given))
        assert (summary.state, summary.succeeded, summary.errors) == ("finished", 61, {})
        assert set(site.came) <= {one.address for one in proxies}
        assert site.paths["/robots.txt"] >= 1
        made = attempts(tmp_path)
        assert {a["proxy"].partition("/")[0] for a in made} == {"p0", "p1", "p2"}
        tried = Counter(a["proxy"].partition("/")[2].partition(":")[0] for a in made)
        assert max(tried[one.address] for one in proxies if one.manner != "good") <= 3 * given["processes"]
        assert {a["error"] for a in made if a["outcome"] == "again"} >= {"proxy"}
        kept = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
        assert not [data for data in kept if SECRET.encode() in data]


async def test_a_sticky_session_keeps_its_address_and_ends_with_its_proxy(tmp_path: Path) -> None:
    proxies = some(*["good"] * 6)
    async with target(60) as site, lights(*proxies):
        given = {
            "proxies": (listed(tmp_path, proxies),),
            "rotation": "session",
            "timeout": 3.0,
            "delay": (0.02, 0.02),
        }
        work = asyncio.create_task(crawl(job([f"http://127.0.0.1:{site.port}/"], tmp_path, **given)))
        while site.came.total() < 15 and not work.done():  # noqa: ASYNC110 - it is the host that is looked at
            await asyncio.sleep(0.01)
        assert len(site.came) == 1
        for one in proxies:
            if one.address in site.came:
                await one.stop()
        assert (await work).succeeded == 61
        assert len(site.came) == 2
        assert len(site.seen) == 2
        assert {len(addresses) for addresses in site.seen.values()} == {1}


async def test_a_gateway_gives_each_session_a_word_of_its_own(tmp_path: Path) -> None:
    gate = Light("127.0.8.1", free_port())
    path = tmp_path / "gateway.txt"
    path.write_text(
        f"http://joe-{{country}}-{{session}}:pw@{gate.address}:{gate.port} country=de,fr type=residential"
    )
    sites = tmp_path / "shop.py"
    async with target(5) as site, lights(gate):
        sites.write_text(
            "from gossamer import Site\n"
            f'site = Site("shop", seeds=["http://127.0.0.1:{site.port}/"], proxies="residential country=fr rotation=host", follow=True)\n'
        )
        summary = await crawl(
            job([str(sites)], tmp_path, proxies=(str(path),), pages=str(tmp_path / "pages.jsonl"))
        )
        assert summary.succeeded == 6
        users = {user.partition(":")[0] for user in gate.users}
        assert len(users) == 1
        assert users.pop().startswith("joe-fr-")


async def test_what_a_request_needs_goes_before(tmp_path: Path) -> None:
    proxies = some("good", "good")
    path = tmp_path / "proxies.txt"
    path.write_text(
        "\n".join(
            f"{one.address}:{one.port} country={c} type={k}"
            for one, c, k in zip(proxies, ("de", "fr"), ("mobile", "datacenter"), strict=True)
        )
    )
    seeds = tmp_path / "seeds.jsonl"
    async with target(0) as site, lights(*proxies):
        needs = [{"country": "FR"}, {"proxy": "mobile"}, {"country": "us"}]
        seeds.write_text(
            "\n".join(
                json.dumps({"url": f"http://127.0.0.1:{site.port}/{n}", **one}) for n, one in enumerate(needs)
            )
        )
        summary = await crawl(job([str(seeds)], tmp_path, proxies=(str(path),), ignore_robots=True, name="c"))
        assert site.came == {"127.0.8.1": 1, "127.0.8.2": 1}
        assert (summary.succeeded, summary.dead, summary.errors) == (2, 1, {"proxy": 1})


async def test_a_host_that_is_down_is_not_held_against_the_proxies(tmp_path: Path) -> None:
    proxies = some("good", "good", "good", "good")
    async with target(3) as site, lights(*proxies):
        down = free_port()
        summary = await crawl(
            job(
                [f"http://127.0.0.1:{down}/", f"http://127.0.0.1:{site.port}/"],
                tmp_path,
                proxies=(listed(tmp_path, proxies),),
                retries=(0.1,),
                ignore_robots=True,
            )
        )
        assert (summary.succeeded, summary.dead) == (4, 1)


@pytest.mark.parametrize("lines", [[], ["nonsense"]])
async def test_without_a_proxy_nothing_is_sent(tmp_path: Path, lines: list[str]) -> None:
    proxies = some("dead", "dead", "refuses") if not lines else []
    async with target(3) as site, lights(*proxies):
        path = listed(tmp_path, proxies, *lines)
        words = [
            sys.executable,
            "-m",
            "gossamer",
            "crawl",
            f"http://127.0.0.1:{site.port}/",
            "--proxies",
            path,
            "--data",
            str(tmp_path / "data"),
        ]
        words += ["--allow-private", "127.0.8.0/24", "--quiet", "-s", "timeout=2s", "--processes", "2"]
        process = await asyncio.create_subprocess_exec(
            *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        said = (await process.communicate())[1].decode()
        assert process.returncode == 21, said
        assert "no proxy left" in said
        assert not site.came


async def test_a_site_that_wants_proxies_goes_nowhere_without(tmp_path: Path) -> None:
    async with target(3) as site:
        shop = tmp_path / "shop.py"
        shop.write_text(
            f'from gossamer import Site\nsite = Site("shop", seeds=["http://127.0.0.1:{site.port}/"], proxies="residential")\n'
        )
        with pytest.raises(NoProxyLeft, match="site shop requires proxies"):
            await crawl(job([str(shop)], tmp_path))
        path = tmp_path / "list.txt"
        path.write_text("127.0.8.1:1 provider=acme\n")
        for wish, why in (
            ("provider=acne", "no provider 'acne' .did you mean acme"),
            ("residential", "the lists contain no proxy that is type residential"),
        ):
            shop.write_text(
                f'from gossamer import Site\nsite = Site("shop", seeds=["http://127.0.0.1:{site.port}/"], proxies="{wish}")\n'
            )
            with pytest.raises(Exception, match=why):
                await crawl(job([str(shop)], tmp_path, proxies=(str(path),), fresh=True))
        assert not site.came


async def test_a_health_check_finds_liars_before_they_are_asked(tmp_path: Path) -> None:
    proxies = some("good", "good", "lies", "lies", "hangs")
    async with target(20) as site, target(0) as known, lights(*proxies):
        check = f"http://127.0.0.1:{known.port}/ True page"
        given = {"proxies": (listed(tmp_path, proxies),), "proxy_check": check, "timeout": 2.0}
        summary = await crawl(job([f"http://127.0.0.1:{site.port}/"], tmp_path, **given))
        assert summary.succeeded == 21
        assert {a["proxy"].partition("/")[2].partition(":")[0] for a in attempts(tmp_path)} == {
            "127.0.8.1",
            "127.0.8.2",
        }


async def test_proxies_at_private_addresses_are_named_before_the_first_claim(tmp_path: Path) -> None:
    path = listed(tmp_path, some("good", "good"), "http://10.1.2.3:3128")
    some_allowed = read_proxy_lists(Settings(proxies=(path,), allow_private=("127.0.0.0/8",)))
    assert len(some_allowed.proxies) == 2
    [(_, number, reason)] = some_allowed.bad
    assert number == 3
    assert reason.startswith("10.1.2.3 is ")
    assert "give --allow-private 10.1.2.3" in reason
    with pytest.raises(NoProxyLeft, match=r"line 1: 127\.0\.8\.1 is .*--allow-private 127\.0\.8\.1"):
        await crawl(job(["http://shop.example/"], tmp_path, proxies=(path,), allow_private=()))


async def test_doctor_tries_them(tmp_path: Path) -> None:
    proxies = some("good", "dead", secret=f"joe:{SECRET}")
    async with lights(*proxies):
        found = await doctored(
            Settings(proxies=(listed(tmp_path, proxies, "nonsense"),), allow_private=("127.0.0.0/8",))
        )
    told = {one.what: (one.level, one.found, one.advice) for one in found}
    assert told["proxies"] == ("ok", "2: 2 datacenter; providers p0, p1", "")
    assert told["proxy lines"][0] == "warn"
    assert told["proxies tried"][:2] == ("warn", "1 of 2 accept connections")
    assert "p1/127.0.8.2" in told["proxies tried"][2]
    assert SECRET not in str(found)
