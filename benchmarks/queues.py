"""Reads a queue that other programs fill, while each part is killed twice, and a queue of malformed messages.

    python benchmarks/queues.py [--messages 100000] [--kinds zset|list|stream|amqp] [--bad 500000] [--only kills|order|bad] [--folder DIR]

`kills`: three producers send messages with the fields of another program over a given time, one message in twenty
malformed. A crawl with two worker processes reads the queue and fetches the pages from a local server. Each producer,
the server of the queue, the crawl, its store and a worker process get SIGKILL twice, and are started again. The goals:
each URL has one row, each malformed message is aside once with its reason, and the queue is empty. A producer sends
its last batch again after a kill, so a malformed message can be sent twice.

`order`: the queue is full before the crawl begins, and a host has one visit at a time. The table shows how many
requests passed over a URL of their host with a higher priority. One claim in 16 comes from the lowest priority.

`bad`: a queue of malformed messages with a few good ones, and then the same number of good messages with a field map
that contains a typo. The goals: all are aside, the good ones are fetched, and the crawl says what is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import amqp
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.runs import SRC, children_of, store_pid
from support.fleet_workers import Server
from support.processes import free_port
from support.rabbitmq import Rabbit

HOSTS, LEVELS, BATCH, BAD_SHARE = 50, 5, 100, 20
FIELDS = "proxy_type=,timestamp=added_at,retries="
SILENCE_S = 90.0
"""A crawl without a new page for this long is stopped, and what is missing is reported."""


class Web:
    """A server on HOSTS loopback addresses. It answers each path with a small page, and records the requests."""

    def __init__(self) -> None:
        self.port, self.asked = free_port(), defaultdict[str, list[int]](list)
        self.distinct: set[tuple[str, int]] = set()
        self._ready = threading.Event()

    def url(self, n: int) -> str:
        """Returns the URL of a message."""
        return f"http://127.0.1.{n % HOSTS + 1}:{self.port}/{n}"

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        async with contextlib.AsyncExitStack() as listening:
            for host in range(1, HOSTS + 1):
                server = await asyncio.start_server(self._talk, f"127.0.1.{host}", self.port)
                await listening.enter_async_context(server)
            self._ready.set()
            await self._ended.wait()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        with (
            contextlib.closing(writer),
            contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError),
        ):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                name = head.split(b" ", 2)[1].strip(b"/")
                found = name.isdigit()
                if found:
                    self.asked[host].append(int(name))
                    self.distinct.add((host, int(name)))
                body = b"<title>%s</title>" % name if found else b""
                status = b"200 OK" if found else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
                    % (status, len(body), body)
                )
                await writer.drain()

    def __enter__(self) -> Web:
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._ready.wait(30), "the web did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)


def level(n: int) -> int:
    """Returns the priority of a message."""
    return n // HOSTS * 7 % LEVELS + 1


def message(n: int, url: str) -> bytes:
    """Returns a message with the fields of another program."""
    fields = {"id": f"m{n}", "url": url, "retries": 0, "proxy_type": "residential"}
    return json.dumps({**fields, "timestamp": "2026-11-29T03:00:00", "priority": level(n)}).encode()


def malformed(n: int) -> bytes:
    """Returns a malformed message, which is different for each number."""
    kinds = (
        b'{"id": "%d", "url":',
        b'{"id": "%d"}',
        b'{"url": "https://h.example/%d", "new": 1}',
        b"\xff%d",
        b"ftp://h/%d",
    )
    return kinds[(n // BAD_SHARE + n) % len(kinds)] % n


class RedisClient:
    """Sends messages to a Redis server, and counts those that are not added yet."""

    def __init__(self, kind: str, port: int) -> None:
        self._kind, self._redis = kind, redis.Redis(port=port, retry=Retry(NoBackoff(), 0))

    def push(self, entries: list[tuple[bytes, int]]) -> None:
        """Sends messages with their priorities."""
        pipe = self._redis.pipeline(transaction=False)
        if self._kind == "zset":
            pipe.zadd("tasks", dict(entries))
        elif self._kind == "list":
            pipe.rpush("tasks", *(body for body, _ in entries))
        else:
            for body, _ in entries:
                pipe.xadd("tasks", {"message": body})
        pipe.execute()

    def left(self) -> int:
        """Returns how many messages are not added yet."""
        if self._kind == "stream":
            group = self._redis.xinfo_groups("tasks")[0]
            return int(group["pending"]) + int(group["lag"] or 0)
        waiting = self._redis.zcard("tasks") if self._kind == "zset" else self._redis.llen("tasks")
        return int(waiting) + int(self._redis.llen("tasks:gossamer:gossamer"))

    def close(self) -> None:
        """Closes the connection."""
        self._redis.close()


class RabbitClient:
    """Sends messages to a durable queue of RabbitMQ, and counts those that no reader has taken."""

    def __init__(self, kind: str, port: int) -> None:
        self._connection = amqp.Connection(f"127.0.0.1:{port}", connect_timeout=5, read_timeout=20)
        self._connection.connect()
        self._channel = self._connection.channel()
        self._declare()
        self._channel.tx_select()

    def _declare(self) -> Any:
        return self._channel.queue_declare("tasks", durable=True, auto_delete=False)

    def push(self, entries: list[tuple[bytes, int]]) -> None:
        """Sends messages in one transaction. Their priorities are in their bodies."""
        for body, _ in entries:
            self._channel.basic_publish(amqp.Message(body, delivery_mode=2), routing_key="tasks")
        self._channel.tx_commit()

    def left(self) -> int:
        """Returns how many messages no reader has taken."""
        return int(self._declare().message_count)

    def close(self) -> None:
        """Closes the connection."""
        with contextlib.suppress(*AWAY):
            self._connection.close()


AWAY = (redis.RedisError, amqp.AMQPError, OSError)
"""Errors of a client whose server is away."""


@contextlib.contextmanager
def client_of(kind: str, port: int) -> Iterator[RedisClient | RabbitClient]:
    """Yields a client of the queue's server. Raises one of AWAY if the server is away."""
    client = (RabbitClient if kind == "amqp" else RedisClient)(kind, port)
    with contextlib.closing(client):
        yield client


def produce(
    part: int, messages: int, kind: str, web_port: int, port: int, position: Path, pause: float
) -> None:
    """Sends a third of the messages, beginning at the position of an earlier run. Waits while the server is away."""
    web = Web()
    web.port = web_port
    mine = range(part, messages, 3)
    at = int(position.read_text() or 0) if position.exists() else 0
    while at < len(mine):
        with contextlib.suppress(*AWAY), client_of(kind, port) as client:
            while at < len(mine):
                batch = mine[at : at + BATCH]
                with position.with_suffix(".tries").open("a") as tries:
                    tries.write(f"{at}\n")
                client.push(entries_of(batch, web))
                at += BATCH
                new = position.with_suffix(".new")
                new.write_text(str(at))
                os.replace(new, position)
                time.sleep(pause)
        time.sleep(0.1)


def entries_of(numbers: range, web: Web) -> list[tuple[bytes, int]]:
    """Returns the messages of a batch with their priorities. One in twenty is followed by a malformed one."""
    entries = []
    for n in numbers:
        entries.append((message(n, web.url(n)), level(n)))
        if n % BAD_SHARE == 0:
            entries.append((malformed(n), level(n)))
    return entries


class Parts:
    """The parts of a run, which can be killed and are started again."""

    def __init__(
        self, folder: Path, web: Web, kind: str, fields: str = FIELDS, more: tuple[str, ...] = ()
    ) -> None:
        self.folder, self.web, self.kind = folder, web, kind
        self.queue: Server | Rabbit = Server(folder / "queue", more=("--appendfsync", "always"))
        source = f"redis-{kind}://127.0.0.1:{self.queue.port}/0?key=tasks"
        if kind == "amqp":
            self.queue = Rabbit(folder / "queue")
            source = f"{self.queue.url.rstrip('/')}/?queue=tasks"
        self._words = [
            *("crawl", source, "--name", "c"),
            *(
                "--data",
                str(folder / "data"),
                "-o",
                str(folder / "out.jsonl"),
                "--scope",
                "page",
                "--delay",
                "0",
            ),
            *(
                "--allow-private",
                "127.0.0.0/8",
                "-s",
                f"message_fields={fields}",
                "--retries",
                "0.1s,0.2s,0.3s",
                *more,
            ),
        ]
        self.senders: list[list[str]] = []
        self.sending: list[subprocess.Popen[bytes]] = []
        self.crawl: subprocess.Popen[bytes] | None = None
        self.peak_mib = 0.0
        self.ended: list[str] = []
        """The exit codes and last messages of crawls that ended although nobody stopped or killed them."""

    def begin_crawl(self) -> None:
        """Starts the crawl, or continues it."""
        env = {**os.environ, "PYTHONPATH": str(SRC)}
        with (self.folder / "err").open("ab") as err:
            program = [sys.executable, "-m", "gossamer", *self._words]
            self.crawl = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=err, env=env)

    def begin_senders(self, messages: int, seconds: float) -> None:
        """Starts the three producers."""
        pause = seconds / max(1, messages // 3 // BATCH)
        for part in range(3):
            given = (
                part,
                messages,
                self.kind,
                self.web.port,
                self.queue.port,
                self.folder / f"at{part}",
                pause,
            )
            self.senders.append([sys.executable, __file__, "--produce", *map(str, given)])
            self.sending.append(subprocess.Popen(self.senders[part]))

    def strike(self, part: str) -> bool:
        """Kills a part, and starts it again. Returns whether there was something to kill."""
        assert self.crawl is not None
        if part.startswith("producer"):
            number = int(part[-1])
            if self.sending[number].poll() is not None:
                return False
            self.sending[number].kill()
            self.sending[number].wait()
            self.sending[number] = subprocess.Popen(self.senders[number])
        elif part == "queue":
            self.queue.kill()
            time.sleep(1)
            self.queue.start()
        elif part == "crawl":
            self.crawl.kill()
            self.crawl.wait()
            self.begin_crawl()
        else:
            pids = children_of(self.crawl.pid) if part == "worker" else [store_pid(self.folder / "data")]
            if not pids or not pids[0]:
                return False
            try:
                os.kill(pids[0], signal.SIGKILL)
            except ProcessLookupError:
                return False
        return True

    def watch(self) -> None:
        """Starts a crawl again that ended, and notes its memory."""
        assert self.crawl is not None
        if (code := self.crawl.poll()) is not None:
            lines = [line for line in (self.folder / "err").read_text().splitlines() if line[:1] != "{"]
            self.ended.append(f"{code}: {lines[-1:]}")
            self.begin_crawl()
        with contextlib.suppress(OSError, ValueError, IndexError):
            status = Path(f"/proc/{self.crawl.pid}/status").read_text()
            peak = next(
                (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0
            )
            self.peak_mib = max(self.peak_mib, peak / 1024)

    def end(self) -> None:
        """Stops the crawl as Ctrl-C does."""
        assert self.crawl is not None
        self.crawl.send_signal(signal.SIGINT)
        try:
            self.crawl.wait(60)
        except subprocess.TimeoutExpired:
            self.crawl.kill()
            self.crawl.wait()

    def close(self) -> None:
        """Ends everything that still runs."""
        for process in [*self.sending, *([self.crawl] if self.crawl else [])]:
            if process.poll() is None:
                process.kill()
                process.wait()
        with contextlib.suppress(ProcessLookupError):
            if pid := store_pid(self.folder / "data"):
                os.kill(pid, signal.SIGKILL)
        self.queue.kill()

    def empty(self) -> bool:
        """Returns whether all messages were sent and added. RabbitMQ does not count messages that a reader has taken
        and not added: after the crawl, they are in the queue again."""
        with contextlib.suppress(*AWAY, IndexError), client_of(self.kind, self.queue.port) as client:
            return all(one.poll() is not None for one in self.sending) and client.left() == 0
        return False

    def wait(self, pages: int, step: Callable[[], bool] = lambda: True) -> bool:
        """Waits until `step()` is true, the queue is empty and `pages` pages were requested. Returns whether
        that happened."""
        moved, before = time.monotonic(), (-1, -1)
        while not (step() and len(self.web.distinct) >= pages and self.empty()):
            self.watch()
            aside = self.folder / "data" / "c" / "rejected.jsonl"
            now = (len(self.web.distinct), aside.stat().st_size if aside.exists() else 0)
            if now != before:
                moved, before = time.monotonic(), now
            if time.monotonic() - moved > SILENCE_S:
                return False
            time.sleep(0.05)
        time.sleep(2)  # the last visits are written
        return True

    def pushed(self, messages: int) -> Counter[str]:
        """Returns how often each malformed message was sent, or may have been sent."""
        found = Counter[str]()
        for part in range(3):
            mine = range(part, messages, 3)
            for line in (self.folder / f"at{part}.tries").read_text().splitlines():
                batch = mine[int(line) : int(line) + BATCH]
                found.update(malformed(n).decode("utf-8", "replace") for n in batch if n % BAD_SHARE == 0)
        return found

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows of the output, or the messages that are aside."""
        path = self.folder / name
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


@contextlib.contextmanager
def parts(folder: str | None, kind: str, **more: Any) -> Iterator[Parts]:
    """Yields the parts of one run, with a running web and queue."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="gq-") as name, Web() as web:
        one = Parts(Path(name), web, kind, **more)
        one.queue.start()
        with client_of(kind, one.queue.port):  # a queue of RabbitMQ exists after this
            pass
        try:
            yield one
        finally:
            one.close()


def kills(kind: str, messages: int, seconds: float, folder: str | None, seed: int) -> list[str]:
    """Runs `kills` and prints a line. Returns what is wrong."""
    strikes = 2 * [f"producer{n}" for n in range(3)] + 2 * ["queue", "crawl", "store", "worker"]
    rng = random.Random(seed)
    rng.shuffle(strikes)
    strikes.sort(key=lambda part: not part.startswith("producer") and rng.random() < 0.5)
    done: list[str] = []
    with parts(folder, kind, more=("--processes", "2", "--per-host", "4")) as one:
        began = last = time.monotonic()
        one.begin_crawl()
        one.begin_senders(messages, seconds)

        def step() -> bool:
            nonlocal last
            due = time.monotonic() - last > seconds / 20 and len(one.web.distinct) > messages / 50
            if strikes and due and (one.strike(strikes[0]) or strikes[0].startswith("producer")):
                done.append(strikes.pop(0))
                last = time.monotonic()
            return not strikes

        whole = one.wait(messages, step)
        took = time.monotonic() - began
        one.end()
        wrong = [] if whole else [f"no new page for {SILENCE_S:.0f} s"]
        wrong += [] if one.empty() else ["messages are left in the queue"]
        found = Counter(row["requested_url"] for row in one.rows("out.jsonl"))
        wanted = {one.web.url(n) for n in range(messages)}
        if missing := wanted - found.keys():
            wrong.append(f"{len(missing)} URLs have no row, for example {min(missing)}")
        if twice := [url for url, n in found.items() if n > 1]:
            wrong.append(f"{len(twice)} URLs have several rows, for example {min(twice)}")
        aside = Counter(row["text"] for row in one.rows("data/c/rejected.jsonl"))
        bad = {malformed(n).decode("utf-8", "replace") for n in range(0, messages, BAD_SHARE)}
        if bad != aside.keys():
            wrong.append(
                f"{len(bad - aside.keys())} malformed messages are not aside, {len(aside.keys() - bad)} others"
            )
        pushed = one.pushed(messages)
        if more := [text for text, n in aside.items() if n > pushed[text]]:
            wrong.append(f"{len(more)} malformed messages are aside more often than they were sent")
        if any(not row["reason"] for row in one.rows("data/c/rejected.jsonl")):
            wrong.append("a message is aside without a reason")
        wrong += [f"the crawl ended by itself, {end}" for end in one.ended]
        again = sum(map(len, one.web.asked.values())) - len(one.web.distinct)
        dealt = ", ".join(f"{n} {part}" for part, n in sorted(Counter(done).items()))
        print(
            f"{kind}: {messages:,} messages by 3 producers and {len(bad):,} malformed ones in {took:.0f} s, kills: {dealt}; "
            f"{len(found):,} URLs with a row, {again} requests repeated, {len(aside):,} messages aside "
            f"({sum(aside.values()) - len(aside)} of them sent twice); "
            + ("; ".join(wrong) or "nothing missing or twice"),
            flush=True,
        )
        if strikes:
            wrong.append(f"not killed: {strikes}")
    return wrong


def order(kind: str, messages: int, folder: str | None) -> list[str]:
    """Runs `order` and prints a line. Returns what is wrong."""
    with parts(folder, kind, more=("--processes", "1", "--per-host", "1")) as one:
        with client_of(kind, one.queue.port) as client:
            for first in range(0, messages, 1000):
                numbers = range(first, min(first + 1000, messages))
                client.push([(message(n, one.web.url(n)), level(n)) for n in numbers])
        one.begin_crawl()
        whole = one.wait(messages)
        one.end()
        passed = total = 0
        for asked in one.web.asked.values():
            waiting = Counter(level(n) for n in asked)
            for n in asked:
                passed += any(waiting[higher] for higher in range(level(n) + 1, LEVELS + 1))
                waiting[level(n)] -= 1
                total += 1
        share = passed / max(1, total)
        print(
            f"{kind}: {total:,} requests to {len(one.web.asked)} hosts with {LEVELS} priorities: {share:.1%} passed over "
            f"a URL of a higher priority (a sixteenth is 6.3 %)",
            flush=True,
        )
        wrong = [] if whole else ["the crawl stood still"]
        wrong += [f"the crawl ended by itself, {end}" for end in one.ended]
    return wrong + ([f"{share:.1%} out of order"] if kind == "zset" and share > 0.07 else [])


def bad(kind: str, count: int, typo: bool, folder: str | None) -> list[str]:
    """Runs `bad` and prints a line. Returns what is wrong."""
    good = 1 if typo else 100
    fields = "proxytype=,timestamp=added_at,retries=" if typo else FIELDS
    with parts(folder, kind, fields=fields, more=("--processes", "1")) as one:
        with client_of(kind, one.queue.port) as client:
            for first in range(0, count, 5000):
                numbers = range(first, min(first + 5000, count))
                client.push([(message(n, one.web.url(n)) if typo else malformed(n), 1) for n in numbers])
            client.push([(one.web.url(n).encode(), 1) for n in range(good)])
        began = time.monotonic()
        one.begin_crawl()
        whole = one.wait(good)
        took = time.monotonic() - began
        one.end()
        aside = one.rows("data/c/rejected.jsonl")
        size = (one.folder / "data" / "c" / "rejected.jsonl").stat().st_size
        said = next(
            (line for line in (one.folder / "err").read_text().splitlines() if "is rejected" in line), ""
        )
        reasons = Counter(row["reason"].partition(" (byte")[0].partition(" - at")[0][:60] for row in aside)
        rows = len(one.rows("out.jsonl"))
        what = "messages whose field map has a typo" if typo else "malformed messages"
        print(
            f"{kind}: {count:,} {what} and {good} good: {took:.0f} s, {one.peak_mib:.0f} MiB, {len(aside):,} aside "
            f"({size / 2**20:.0f} MiB, {len(reasons)} reasons), {rows} pages\n  said: {said.replace(str(one.folder), '...')}",
            flush=True,
        )
        wrong = [] if whole else ["the crawl stood still"]
        wrong += [f"the crawl ended by itself, {end}" for end in one.ended]
    if len({row["text"] for row in aside}) != count or len(aside) != count:
        wrong.append(f"{len(aside)} aside, not {count}")
    wrong += [] if rows == good else [f"{rows} pages, not {good}"]
    return wrong + ([] if said else ["nothing was said"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the producers send")
    parser.add_argument("--kinds", nargs="+", default=["zset"], choices=["zset", "list", "stream", "amqp"])
    parser.add_argument("--ordered", type=int, default=20_000)
    parser.add_argument("--bad", type=int, default=500_000)
    parser.add_argument("--only", choices=["kills", "order", "bad"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder")
    parser.add_argument("--produce", nargs=7)
    given = parser.parse_args()
    if given.produce:
        part, messages, kind, web, port, position, pause = given.produce
        produce(int(part), int(messages), kind, int(web), int(port), Path(position), float(pause))
        return
    print(time.strftime("%Y-%m-%d, ", time.gmtime()) + "python " + " ".join(sys.argv), flush=True)
    wrong: list[str] = []
    for kind in given.kinds:
        if given.only in (None, "kills"):
            wrong += kills(kind, given.messages, given.seconds, given.folder, given.seed)
        if given.only in (None, "order") and kind == "zset":
            wrong += order(kind, given.ordered, given.folder)
        if given.only in (None, "bad"):
            wrong += bad(kind, given.bad, False, given.folder) + bad(kind, given.bad, True, given.folder)
    for line in wrong:
        print("WRONG:", line)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
