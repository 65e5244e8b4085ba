"""A Valkey server with its connections, and with its replicas according to INFO.

A connection stores the run ID of the server process to which it is connected. Each call of the script `claim`
contains the run ID. If the run ID differs from that of the previous claim, the script delays the hosts of the
bucket (`failover.lua`).
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from gossamer.store.address import Address, HostPort
from gossamer.store.connection import Dialling, ServerClient
from gossamer.store.server_errors import LostInTime, NoPermissionError

INFO_TIMEOUT_S = 2.0
"""Seconds within which a server must answer INFO."""
MAX_REPLICA_LAG_S = 10
"""A replica no longer counts as online if it has sent no acknowledgment for this many seconds."""


class Server:
    """One server process that accepts writes, and the connections to it."""

    def __init__(self, place: HostPort, address: Address, timeout: float, *, plain: bool = False) -> None:
        self.place = place
        self.replicas = 0
        """Number of replicas that are online."""
        self.filling = 0
        """Number of replicas that are still loading their first copy of the data."""
        self.info: dict[str, Any] = {}
        self.client = ServerClient(
            Dialling(place, address, timeout, min(timeout, 3.0), reads_run_id=not plain)
        )

    @property
    def mode(self) -> str:
        """The mode of the server: standalone, sentinel or cluster."""
        return str(self.info.get("redis_mode") or self.info.get("server_mode") or "standalone")

    @property
    def role(self) -> str:
        """The role of the server: master or slave. If the database user may not call INFO, the role is
        assumed to be master."""
        return str(self.info.get("role", "master"))

    @property
    def age(self) -> float:
        """The number of seconds since the server process started. Infinite if the database user may not call
        INFO."""
        return float(self.info.get("uptime_in_seconds", "inf"))

    def trust(self) -> None:
        """Until the next call of `trust`, no command is sent to another process than that of the last
        `look`."""
        self.client.pool.trust(str(self.info.get("run_id", "")))

    async def look(self) -> None:
        """Reads INFO, and stores the server's mode, role and replicas."""
        try:
            async with asyncio.timeout(INFO_TIMEOUT_S):
                (info,) = await self.client.pool.send([(("INFO",), {})], any_process=True)
            if isinstance(info, Exception):
                raise info
            self.info = dict(info)
        except TimeoutError as error:
            raise LostInTime(f"{self.place} does not answer within {INFO_TIMEOUT_S:.0f} s") from error
        except NoPermissionError:
            self.info = {}
        self.told(self.info)

    def told(self, info: Any) -> None:
        """Updates the numbers of replicas from a reply to INFO. The numbers are 0 if the database user may
        not call INFO."""
        told = info if isinstance(info, dict) else {}
        followers = [v for k, v in told.items() if re.fullmatch(r"slave\d+", k) and isinstance(v, dict)]
        online = [one for one in followers if one.get("state") == "online"]
        self.replicas, self.filling = (
            sum(int(one.get("lag", 0)) <= MAX_REPLICA_LAG_S for one in online),
            len(followers) - len(online),
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self.client.pool.close()
