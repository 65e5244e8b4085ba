"""`gossamer.Client` steers and reads crawls through `gossamer serve`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar

import msgspec

from gossamer.client.service_connection import ServiceConnection
from gossamer.client.service_methods import ServiceMethods
from gossamer.errors import ServiceAway
from gossamer.frontier.crawls import ENDED
from gossamer.operations import results, results_of_uses

State = TypeVar("State", results.CrawlStatus, results_of_uses.CommandRun)
WAIT_S = 30.0
"""Seconds for which the server holds a request that waits for the end of a crawl."""
SILENCE_S = 40.0
"""A stream of events without a line for this many seconds counts as lost. The server sends one every 15 s."""
RECONNECT_S = 1.0
ENDS_OF_RUN = ("finished", "stopped", "failed")


class Client(ServiceMethods):
    """The crawls of one `gossamer serve`. Errors are those of `gossamer.errors`. A request that gets no answer is
    repeated within `timeout`, and changes nothing twice.

    >>> client = Client("http://127.0.0.1:8321", token="gsm_...")  # doctest: +SKIP
    >>> crawl = client.start("https://books.toscrape.com/", limit=100)  # doctest: +SKIP
    >>> client.wait(crawl.crawl).pages  # doctest: +SKIP
    100
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60.0, ca_file: str | None = None
    ) -> None:
        """`url`: the address of `gossamer serve`. `timeout`: the number of seconds after which a call fails,
        repetitions included. `ca_file`: a file of certificates that the server's certificate is checked with."""
        super().__init__(ServiceConnection(url, token, timeout, ca_file))
        self._timeout = timeout

    def wait(self, crawl: str, timeout: float | None = None) -> results.CrawlStatus:
        """Waits until a crawl has ended in any way, and returns its state. `timeout`: the maximum number of seconds.
        Raises ServiceAway after this time."""
        return _awaited(lambda left: self.status(crawl, wait=left), ENDED, crawl, timeout)

    def wait_run(self, run: str, timeout: float | None = None) -> results_of_uses.CommandRun:
        """Waits until a run has ended, and returns its state. `timeout`: the maximum number of seconds. Raises
        ServiceAway after this time."""
        return _awaited(lambda left: self.run(run, wait=left), ENDS_OF_RUN, run, timeout)

    def export(
        self,
        crawl: str,
        file: str | os.PathLike[str],
        what: Literal["items", "pages", "attempts", "skipped"] = "items",
        *,
        kind: str | None = None,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> int:
        """Writes the rows of a crawl to a file, and returns its size in bytes. The ending of the name chooses the format:
        `.jsonl`, `.csv` or `.parquet`. The rows never are in memory together. A Parquet file has one `kind` of items."""
        given = {"crawl": crawl, "kind": kind, "host": host, "since": since, "where": list(where)}
        return self._connection.save(f"{what.removesuffix('s')}_list", given, file)

    def events(self, crawl: str | None = None, after: str = "") -> Iterator[tuple[str, results.CrawlEvent]]:
        """Yields the changes of crawls as they happen, each with its number. `after`: the number of the last event
        that was seen, or `0-0` for all that are kept. A lost connection is made again, and no event is left out."""
        failed = 0.0
        while True:
            number, data = "", b""
            try:
                for line in self._connection.events({"crawl": crawl}, after, SILENCE_S):
                    failed = 0.0
                    name, _, value = line.partition(b": ")
                    if name == b"id":
                        number = value.decode()
                    elif name == b"data":
                        data = value
                    elif not line and number and data:
                        after = number
                        yield number, msgspec.json.decode(data, type=results.CrawlEvent)
                        number, data = "", b""
            except (ServiceAway, OSError) as error:
                failed = failed or time.monotonic()
                if time.monotonic() - failed > self._timeout:
                    raise ServiceAway(f"{self._connection.url} sends no events: {error}") from error
            time.sleep(RECONNECT_S)


def _awaited(ask: Callable[[float], State], ends: Sequence[str], name: str, timeout: float | None) -> State:
    """Repeats a request that waits for one of the states `ends`, and returns the state. Raises ServiceAway after
    `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = WAIT_S if deadline is None else max(0.0, min(WAIT_S, deadline - time.monotonic()))
        found = ask(left)
        if found.state in ends:
            return found
        if deadline is not None and time.monotonic() >= deadline:
            raise ServiceAway(f"{name} is still {found.state} after {timeout:g} s")
