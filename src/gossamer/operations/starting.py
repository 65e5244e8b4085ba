"""The operation that starts a crawl. The crawl is a process of its own, so it survives the end of `serve`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer import errors
from gossamer.app.targets import crawl_name, target_kind
from gossamer.config.data_files import make_private, open_file
from gossamer.errors import InUse, InvalidField, UsageError
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import ENDED, check_name
from gossamer.operations import inputs, results
from gossamer.operations.context import OperationContext
from gossamer.operations.crawls import status_of, wait_for_end
from gossamer.operations.guarded_targets import check_target
from gossamer.operations.problems import RequestProblem

BEGIN_TIMEOUT_S = 60.0
"""The maximum number of seconds until a process that was started has recorded its crawl in the store."""
CHECK_INTERVAL_S = 0.05
LOG_TAIL_BYTES = 8192
MAX_NAME_CHARS = 80
_VALUES = (
    *("scope", "depth", "limit", "time_limit", "size_limit", "delay", "per_host", "concurrency", "rate"),
    *("priority", "include", "exclude", "fail_on"),
)
_FLAGS = ("sitemaps", "text", "links", "fresh", "refresh")
_ERRORS = {2: errors.UsageError, 4: errors.ConfigError, 8: errors.StoreError, 16: errors.DiskFull}

_children: list[subprocess.Popen[bytes]] = []
"""The processes that this process started. The list is only used to limit their number."""


async def crawl_start(context: OperationContext, given: inputs.StartCrawl) -> results.CrawlStatus:
    """Starts a crawl, or resumes the unfinished crawl of this name. The same request with the same idempotency key
    starts one crawl. With `wait`, answers when the crawl has ended, or when the time is over."""
    name, targets = _checked(context, given)
    if not await _is_started(context, name, targets):
        running = [one for one in _children if one.poll() is None]
        _children[:] = running
        if len(running) >= context.crawls_at_once:
            raise RequestProblem(
                "too-many",
                f"{len(running)} crawls run, the most that serve starts at once (--crawls)",
                headers={"Retry-After": "10"},
            )
        log = _log_of(context, name)
        child = await asyncio.to_thread(_start, context, name, _words(given, name, targets), log)
        _children.append(child)
        await _begun(context, name, child, log)
    await wait_for_end(context, name, given.wait)
    return await status_of(context, name)


def _checked(context: OperationContext, given: inputs.StartCrawl) -> tuple[str, list[str]]:
    """Returns the name and the targets of a crawl. Raises InvalidField."""
    if not given.targets and not given.sites:
        raise InvalidField("no target: give targets (URLs) or sites (names of site files)", "/targets")
    if given.fresh and given.refresh:
        raise InvalidField("fresh and refresh exclude one another", "/refresh")
    for number, text in enumerate(given.targets):
        check_target(text, context.settings, f"/targets/{number}")
    files = [context.site_file(name, f"/sites/{number}") for number, name in enumerate(given.sites)]
    prefix = context.caller.prefix
    if given.name is not None:
        if not context.caller.sees(given.name):
            raise InvalidField(f"the token permits only names that begin with {prefix!r}", "/name")
        try:
            check_name(given.name)
        except UsageError as error:
            raise InvalidField(str(error), "/name") from None
        return given.name, [*given.targets, *files]
    mark = f"{context.caller.token}\n{context.key}" if context.key else secrets.token_hex(8)
    known = [target_kind(text) for text in given.targets]
    usual = crawl_name(known, given.sites) if known else given.sites[0]
    digits = hashlib.sha256(mark.encode()).hexdigest()[:8]
    return f"{prefix}{usual}"[: MAX_NAME_CHARS - 9] + f"-{digits}", [*given.targets, *files]


async def _is_started(context: OperationContext, name: str, targets: list[str]) -> bool:
    """Returns whether an earlier request with the same idempotency key has already started the crawl. Raises InUse if
    another process runs the crawl."""
    record = await context.crawls.get(name)
    if record is None or (record.state in ENDED and not (context.key and _is_derived(context, name))):
        return False
    if not (record.state in ENDED or is_running(record, context.settings.data)):
        return False  # its process died, and the new one continues the crawl
    if context.key and record.spec.targets == targets:
        return True
    if record.state in ENDED:
        return False
    raise InUse(f"crawl {name} is {record.state}: add URLs to it, wait for its end, or give another name")


def _is_derived(context: OperationContext, name: str) -> bool:
    mark = f"{context.caller.token}\n{context.key}"
    return name.endswith("-" + hashlib.sha256(mark.encode()).hexdigest()[:8])


def _words(given: inputs.StartCrawl, name: str, targets: list[str]) -> list[str]:
    """Returns the options and targets of the command."""
    words = ["--name", name, "--json", "--quiet"]
    for option in _VALUES:
        value = getattr(given, option)
        given_values = value if isinstance(value, list) else [] if value is None else [value]
        words += [f"--{option.replace('_', '-')}={one}" for one in given_values]
    words += [f"--{flag}" for flag in _FLAGS if getattr(given, flag)]
    words += ["--text", "-s", "text_format=markdown"] if given.markdown else []
    for argument, value in given.args.items():
        words += ["-a", f"{argument}={value}"]
    return [*words, "--", *targets]


def _log_of(context: OperationContext, name: str) -> Path:
    return Path(context.settings.data).absolute() / ".serve" / f"{name}.log"


def _start(context: OperationContext, name: str, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Starts the process of a crawl in a session of its own. Its standard streams are a file in the data folder."""
    settings = context.settings
    make_private(log.parent)
    env = {**os.environ, "GOSSAMER_DATA": str(Path(settings.data).absolute())}
    if settings.store is not None:  # not as an option, because other users see the options of a process
        env["GOSSAMER_STORE"] = settings.store
    verb = "crawl" if settings.store is None else "submit"
    own = [word.replace("{crawl}", name) for word in context.words]
    command = [sys.executable, "-m", "gossamer", verb, *own, *words]
    out = open_file(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        child = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    finally:
        os.close(out)
    threading.Thread(target=child.wait, name=f"crawl {name}", daemon=True).start()
    return child


async def _begun(context: OperationContext, name: str, child: subprocess.Popen[bytes], log: Path) -> None:
    """Waits until the process has recorded its crawl in the store. Raises GossamerError if it has ended before."""
    deadline = time.monotonic() + BEGIN_TIMEOUT_S
    while time.monotonic() < deadline:
        code = child.poll()
        record = await context.crawls.get(name)
        is_submitted = context.settings.store is None or (record is not None and record.fleet)
        if record is not None and record.door.get("pid") == child.pid and is_submitted:
            return
        if code is not None:
            if code == 0 and record is not None:
                return
            raise _ERRORS.get(code, errors.CrawlFailed)(_reason(log, code))
        await asyncio.sleep(CHECK_INTERVAL_S)
    raise errors.CrawlFailed(f"crawl {name} has not begun within {BEGIN_TIMEOUT_S:.0f} s: see {log}")


def _reason(log: Path, code: int) -> str:
    """Returns the last message of a process that ended before its crawl began."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    said = [line.removeprefix("gossamer: ") for line in lines if line.startswith("gossamer: ")]
    for line in lines:
        try:
            found = msgspec.json.decode(line, type=dict)
        except msgspec.MsgspecError:
            continue
        if isinstance(found.get("reason"), str):
            said.append(found["reason"])
    return said[-1] if said else f"the process of the crawl ended with exit code {code}"
