"""Finds the servers that currently accept writes: a single server, the master that Sentinels name, or the
masters of a Cluster.

The result is a list of (first slot, last slot, address), where the address is the host and the port of a
server. If no server is found, raises Away, whose message lists all addresses that were tried. If waiting
cannot fix the error, raises StoreError.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from gossamer.errors import Away, GossamerError, StoreError
from gossamer.store.address import Address, HostPort
from gossamer.store.connection import Dialling, ServerClient
from gossamer.store.server import INFO_TIMEOUT_S, Server
from gossamer.store.server_errors import LostInTime, RedisError
from gossamer.store.store_errors import is_login_refused, is_passing, to_gossamer_error

SLOTS = 16384
GRACE_S = 0.25
"""After the first answer of a Sentinel, the number of seconds to wait for the answers of the others."""
SETTLED_S = 20.0
"""A master that has run for this number of seconds is accepted without the answers of all Sentinels. The
Sentinels turn an old master that comes back into a replica within 8 to 18 s."""
_OWN = "the parameters sentinel_user and sentinel_password are for the Sentinels"
Range = tuple[int, int, HostPort]
Look = Callable[[HostPort], Awaitable[Server]]
"""A function that connects to a host and port, reads the INFO of the server there, and returns the server."""


async def by_itself(address: Address, look: Look) -> list[Range]:
    """Returns the slot range of a single server, which contains all slots. Raises StoreError if the server is
    a Sentinel or a Cluster node, and Away if it is a replica."""
    place = address.places[0]
    server = await look(place)
    at = f"the store at {address.shown}"
    if server.mode == "cluster":
        raise StoreError(f"{at} is a node of a Cluster: write redis+cluster://{place}")
    if server.mode == "sentinel":
        raise StoreError(
            f"{at} is a Sentinel: write redis+sentinel://{place}/{_services(server.info) or 'SERVICE'}"
        )
    if server.role != "master":
        master = f"{server.info.get('master_host')}:{server.info.get('master_port')}"
        raise Away(
            f"{at} is a replica: its master is {master}; write that address, or those of the Sentinels"
        )
    return [(0, SLOTS - 1, place)]


class View(NamedTuple):
    """The answer of one Sentinel: the master that it names. `epoch`: the number of the failover that made this
    server the master. `calm`: whether no failover is in progress or due. `sentinels`: the number of Sentinels
    that this Sentinel knows, itself included."""

    epoch: int
    master: HostPort
    calm: bool
    sentinels: int


class Sentinels:
    """Finds the master through the Sentinels that an address lists. Keeps one connection to each Sentinel.

    After a failover, a Sentinel may name the old master for some seconds, and an old master that restarts
    accepts writes until a Sentinel turns it into a replica. These writes are lost. Therefore all Sentinels are
    asked, and the answer with the highest epoch counts. A master that has just started is accepted only if all
    Sentinels have answered, and no failover is in progress.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients = {place: _client(address, place) for place in address.places}
        self._epoch = 0
        """The epoch of the master that was found last."""

    async def find(self, address: Address, look: Look) -> list[Range]:
        """Asks the Sentinels for the address of the master, and returns the slot range of this master. The
        method first checks that the named server is a master."""
        views, tried = await self._views(wait=GRACE_S)
        newest = [one for one in views.values() if one.epoch == max(each.epoch for each in views.values())]
        # a server that runs longer goes first, because an old master that comes back has just started
        found: list[Server] = []
        for master in dict.fromkeys(one.master for one in newest):
            try:
                found.append(await look(master))
            except (RedisError, OSError, GossamerError) as error:
                tried.append(f"{master} ({_why(error, address)})")
        for server in sorted(found, key=lambda one: -one.age):
            if server.role != "master":
                tried.append(f"{server.place} (is named, but is not a master yet)")
            elif not (doubt := await self._doubt(server, newest[0].epoch)):
                self._epoch = newest[0].epoch
                return [(0, SLOTS - 1, server.place)]
            else:
                tried.append(f"{server.place} ({doubt})")
        raise Away(f"the store at {address.shown} does not answer: tried {', '.join(tried)}")

    async def _doubt(self, server: Server, epoch: int) -> str:
        """Returns the reason why another server may have taken over from a master that the Sentinels name, or
        ''."""
        if server.age > SETTLED_S and epoch >= self._epoch:
            return ""
        views, _ = await self._views(wait=INFO_TIMEOUT_S)
        answers = [*views.values()]
        ours = [one for one in answers if one.master == server.place and one.epoch == epoch]
        if not ours or any(one.epoch >= epoch for one in answers if one not in ours):
            return "the Sentinels name several masters"
        if missing := max([len(self._clients), *(one.sentinels for one in answers)]) - len(answers):
            why = f"{missing} of the Sentinels do not answer, so another server may have taken over"
            if epoch < self._epoch:
                return f"{why}, as it had before"
            return f"it started {server.age:.0f} s ago, and {why}"
        return "" if all(one.calm for one in ours) else "a failover is in progress"

    async def _views(self, wait: float) -> tuple[dict[HostPort, View], list[str]]:
        """Asks all Sentinels. Returns the answers, and a text for each Sentinel without a useful answer. After
        the first answer, waits at most `wait` seconds for the others, because the machine of a Sentinel may be
        gone. Raises StoreError if no Sentinel names a master, and waiting cannot help."""
        tasks = {asyncio.create_task(self._view(place)): place for place in self._clients}
        views, tried = dict[HostPort, View](), list[str]()
        faults, strangers, waiting = list[StoreError](), 0, set(tasks)
        try:
            while waiting:
                done, waiting = await asyncio.wait(
                    waiting, timeout=wait if views else None, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    break
                for task in done:
                    try:
                        said = task.result()
                    except StoreError as error:
                        faults.append(error)
                        continue
                    if isinstance(said, View):
                        views[tasks[task]] = said
                    else:
                        strangers += said[1]
                        tried.append(f"{tasks[task]} ({said[0]})")
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        address = self._address
        if faults and not views:
            raise faults[0]
        if strangers == len(self._clients):
            raise StoreError(
                f"the store at {address.shown}: no Sentinel watches {address.service!r}: {', '.join(tried)}"
            )
        return views, tried

    async def _view(self, place: HostPort) -> View | tuple[str, bool]:
        """Asks one Sentinel. If it names no master, returns the reason, and whether it does not watch the
        service."""
        address, client = self._address, self._clients[place]
        try:
            # in this order, so that a failover between the two cannot give the old master the new epoch
            about, named = await _send(
                client,
                ("SENTINEL MASTER", address.service),
                ("SENTINEL GET-MASTER-ADDR-BY-NAME", address.service),
            )
            if isinstance(named, Exception):
                raise named
            if named is None:
                watched = _services(await send_command(client, "INFO", "sentinel"))
                return f"watches {watched or 'nothing'}", True
        except (RedisError, OSError, GossamerError) as error:
            if is_login_refused(error):
                text = f"the Sentinel {place} refused its user/password ({error}): {_OWN}"
                raise StoreError(f"the store at {address.shown}: {text}") from error
            if "unknown command" in str(error):
                raise StoreError(
                    f"the store at {address.shown}: {place} is not a Sentinel: write redis://{place}"
                ) from error
            return _why(error, address), False
        # the user of the Sentinels may lack the right to SENTINEL MASTER
        words = [] if isinstance(about, Exception) else [_text(one) for one in about]
        known = dict(zip(words[::2], words[1::2], strict=False))
        master = HostPort(_text(named[0]), int(named[1]))
        # until a failover ends, SENTINEL MASTER shows the old master
        is_old = (known.get("ip", master.host), int(known.get("port", master.port))) != master
        flags = set(known.get("flags", "").split(","))
        return View(
            int(known.get("config-epoch", 0)),
            master,
            is_old or not flags & {"s_down", "o_down", "failover_in_progress"},
            int(known.get("num-other-sentinels", 0)) + 1,
        )

    async def close(self) -> None:
        """Closes the connections."""
        for client in self._clients.values():
            await client.pool.close()


class Nodes:
    """Finds the masters of a Cluster through its nodes."""

    def __init__(self, address: Address, server: Callable[[HostPort], Server]) -> None:
        self._server = server
        self._places = list(address.places)
        """The addresses of the Cluster nodes, in the order in which they are queried. The address of the node
        that answered last comes first."""

    async def find(self, address: Address, look: Look) -> list[Range]:
        """Returns the slot ranges of the masters, as reported by the first node that answers. Connects to
        each master to check it."""
        tried: list[str] = []
        for place in list(self._places):
            try:
                found = await send_command(self._server(place).client, "CLUSTER SLOTS")
            except (RedisError, OSError) as error:
                if "cluster support disabled" in str(error):
                    raise StoreError(
                        f"the store at {address.shown} is not a Cluster: write redis://{place}"
                    ) from error
                if "unknown command" in str(error):
                    hint = f"{place} is a Sentinel: write redis+sentinel://{place}/SERVICE"
                    raise StoreError(f"the store at {address.shown}: {hint}") from error
                tried.append(f"{place} ({_why(error, address)})")
                continue
            ranges, places = _read(found, place)
            self._places = list(dict.fromkeys((place, *places, *address.places)))
            masters = list(dict.fromkeys(master for _, _, master in ranges))
            for seen in await asyncio.gather(*(look(master) for master in masters), return_exceptions=True):
                if isinstance(seen, BaseException) and not is_passing(seen):
                    raise seen  # a replica will replace a master that does not answer
            return ranges
        raise Away(f"the store at {address.shown} does not answer: tried {', '.join(tried)}")


async def send_command(client: ServerClient, *args: Any) -> Any:
    """Sends one command, with a timeout of INFO_TIMEOUT_S seconds, and returns its reply."""
    (reply,) = await _send(client, args)
    if isinstance(reply, Exception):
        raise reply
    return reply


async def _send(client: ServerClient, *commands: tuple[Any, ...]) -> list[Any]:
    """Sends commands together, with a timeout of INFO_TIMEOUT_S seconds. If the server answers a command with
    an error, the reply is the error."""
    try:
        async with asyncio.timeout(INFO_TIMEOUT_S):
            return await client.pool.send([(args, {}) for args in commands])
    except TimeoutError as error:
        raise LostInTime(f"no answer within {INFO_TIMEOUT_S:.0f} s") from error


def _client(address: Address, place: HostPort) -> ServerClient:
    return ServerClient(Dialling(place, address, INFO_TIMEOUT_S, 1.0, for_sentinel=True))


def _services(info: Any) -> str:
    """Returns the names of the services that a Sentinel watches."""
    found = [
        one["name"] for key, one in info.items() if re.fullmatch(r"master\d+", key) and isinstance(one, dict)
    ]
    return ", ".join(sorted(map(str, found)))


def _read(found: Any, asked: HostPort) -> tuple[list[Range], list[HostPort]]:
    """Decodes the reply of CLUSTER SLOTS. Returns the masters by slot range, and all nodes."""

    def place(one: Any) -> HostPort:
        host = _text(one[0])
        return HostPort(host if host not in ("", "?") else asked.host, int(one[1]))

    rows = [(one[0], one[1], one[2], one[3:]) for one in found]
    ranges = [(int(first), int(last), place(master)) for first, last, master, _ in rows]
    nodes = [place(one) for _, _, master, replicas in rows for one in (master, *replicas)]
    return ranges, nodes


def _text(host: Any) -> str:
    return host.decode() if isinstance(host, bytes) else str(host or "")


def _why(error: BaseException, address: Address) -> str:
    """Returns a short description of one server's error, for a message that lists several servers. If waiting
    cannot fix the error, raises the error as a gossamer error."""
    if not is_passing(error):
        raise to_gossamer_error(error, address) from error
    reached = r"Error -?\d+ connecting to (\S+)\. (?:Connect call failed.*)?"
    return re.sub(reached, r"\1 cannot be reached: ", str(error)).strip(" .:")
