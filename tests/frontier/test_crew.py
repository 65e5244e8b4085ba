"""What workers are told, and by whom: two operators at once, a name that another worker bore before."""

from __future__ import annotations

from gossamer.frontier.crew import Crew, Worker, bear
from gossamer.frontier.store import Store

NAME = "w@here"


def worker(**fields: str) -> Worker:
    return Worker(name=NAME, host="here", pid=1, lanes=["http"], processes=1, version="1", **fields)  # type: ignore[arg-type] # texts alone


async def test_who_is_to_stop_is_not_told_to_drain_instead(store: Store) -> None:
    crew = Crew(store)
    await crew.beat(worker())
    assert await crew.order("w", "stop") == await crew.order("all", "drain") == [NAME]
    assert await crew.ordered(NAME) == "stop"
    await crew.leave(NAME)
    await crew.beat(worker())
    await crew.order("w", "drain")
    await crew.order("w", "stop")
    assert await crew.ordered(NAME) == "stop"


async def test_an_order_ends_with_the_worker_that_it_was_for(store: Store) -> None:
    """Killed while it drained, and started again under its name."""
    crew = Crew(store)
    name, token = await bear(crew, NAME, fixed=True)
    await crew.beat(worker())
    await crew.order(name, "drain")
    await crew.unname(name, token)  # as time does
    await bear(crew, NAME, fixed=True)
    assert await crew.beat(worker()) == ""
