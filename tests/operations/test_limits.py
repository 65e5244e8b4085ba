"""Limits and exclusions of a crawl that change while it runs, through a real `gossamer serve` and the command line."""

from __future__ import annotations

import concurrent.futures
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from cli.command_line import gossamer as command
from gossamer import Client, errors
from operations.service_process import Serving, served_folder
from support.answers import answering
from support.endless_site import Endless


@pytest.fixture(scope="module")
def endless() -> Iterator[str]:
    with answering(Endless) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served_folder(tmp_path_factory.mktemp("limited")) as server:
        yield server


def begun(client: Client, web: str, name: str, **options: Any) -> None:
    """Starts a crawl, and waits for its first pages."""
    client.start(f"{web}/keep/0", name=name, delay=0.02, **options)
    for _, event in client.events(crawl=name, after="0-0"):
        if event.pages >= 10:
            return


def ended(client: Client, name: str) -> Any:
    return client.wait(name, timeout=120)


def test_a_lowered_limit_of_pages_ends_the_running_crawl(limited: Serving, endless: str) -> None:
    client = Client(limited.url)
    begun(client, endless, "lower")
    pages = client.status("lower").pages
    found = client.limits("lower", limit=pages + 30)
    assert (found.limit, found.size_limit, found.exclude) == (pages + 30, None, [])
    done = ended(client, "lower")
    assert (done.state, done.adds_up()) == ("limited", True)
    assert pages <= done.pages <= pages + 200  # the workers read the change within a second


def test_a_raised_limit_lets_the_crawl_go_on(limited: Serving, endless: str) -> None:
    client = Client(limited.url)
    begun(client, endless, "raise", limit=250)
    assert client.limits("raise", limit=300).limit == 300
    done = ended(client, "raise")
    assert (done.state, done.pages) == ("limited", 300)


def test_a_limit_of_bytes_and_of_time_end_the_running_crawl(limited: Serving, endless: str) -> None:
    client = Client(limited.url)
    for name, change in (("bytes", {"size_limit": 1}), ("time", {"time_limit": 1.0})):
        begun(client, endless, name)
        client.limits(name, **change)
        assert ended(client, name).state == "limited"


def test_an_exclusion_applies_to_waiting_and_to_new_urls(limited: Serving, endless: str) -> None:
    """Nothing that matches is requested after the workers have read the change; what waits is counted as skipped."""
    client = Client(limited.url)
    begun(client, endless, "exclude")
    assert client.limits("exclude", exclude=["/drop/"]).exclude == ["/drop/"]
    until_skipped(client, "exclude")
    seen = [row["url"] for row in client.pages("exclude")]
    client.limits("exclude", limit=client.status("exclude").pages + 60)
    done = ended(client, "exclude")
    assert (done.state, done.adds_up()) == ("limited", True)
    late = [row["url"] for row in client.pages("exclude")][len(seen) :]
    assert len(late) > 20
    assert not [url for url in late[5:] if "/drop/" in url]
    assert [row["url"] for row in client.pages("exclude") if "/drop/" in row["url"]]  # some came before
    told = client.explain(f"{endless}/drop/999999", crawl="exclude")
    assert [gate["verdict"] for gate in told.gates if gate["gate"] == "exclude"] != ["passes"]


def test_a_readmitted_pattern_is_fetched_again(limited: Serving, endless: str) -> None:
    client = Client(limited.url)
    begun(client, endless, "readmit")
    client.limits("readmit", exclude=["/drop/", "/none/"])
    until_skipped(client, "readmit")
    assert client.limits("readmit", readmit=["/drop/"]).exclude == ["/none/"]
    n = len(list(client.pages("readmit")))
    client.limits("readmit", limit=n + 150)
    ended(client, "readmit")
    late = [row["url"] for row in itertools.islice(client.pages("readmit"), n, None)]
    assert [url for url in late if "/drop/" in url]
    with pytest.raises(errors.InvalidField) as wrong:
        client.limits("readmit", readmit=["/dorp/"])
    assert wrong.value.pointer == "/readmit"


def until_skipped(client: Client, name: str) -> None:
    for _, _ in client.events(crawl=name):
        if client.status(name).skipped.get("filter", 0) > 10:
            return


def test_exclusions_stay_for_the_next_run_and_limits_do_not(limited: Serving, endless: str) -> None:
    client = Client(limited.url)
    begun(client, endless, "again", limit=250)
    client.limits("again", limit=280, exclude=["/drop/"])
    assert ended(client, "again").pages == 280
    with pytest.raises(errors.ConfigError, match="does not run"):
        client.limits("again", limit=400)
    assert client.limits("again", exclude=["/other/"]).exclude == ["/drop/", "/other/"]
    client.start(f"{endless}/keep/0", name="again", delay=0.02, limit=320)
    done = ended(client, "again")
    assert done.pages == 320
    assert not [row for row in itertools.islice(client.pages("again"), 280, None) if "/drop/" in row["url"]]
    assert client.limits("again").limit is None


def test_the_command_says_what_the_operation_says(limited: Serving, endless: str) -> None:
    client, folder = Client(limited.url), limited.folder
    begun(client, endless, "shown")
    code, out, err = command(folder, "limits", "shown", "--limit", "5000", "--exclude", "/a/", "--json")
    assert code == 0, err
    assert '"limit":5000' in out.replace(" ", "")
    assert client.limits("shown").exclude == ["/a/"]
    code, out, err = command(folder, "limits", "shown")
    assert "pages: 5000; exclude /a/" in out + err
    for words, said in (
        (("--limit", "0"), "--limit '0': must be a whole number from 1, or none"),
        (("--exclude", "("), "is not a regular expression"),
        (("--readmit", "/b/"), "no such exclusion was added to shown"),
    ):
        code, _, err = command(folder, "limits", "shown", *words)
        assert (code, said in err) == (2, True), err
    code, _, err = command(folder, "limits", "none")
    assert code == 2, err
    assert command(folder, "limits", "shown", "--limit", "none", "--quiet")[0] == 0
    assert client.limits("shown").limit == 0
    client.stop("shown")


def test_changes_at_the_same_time_lose_none(limited: Serving, endless: str) -> None:
    client = Client(limited.url)
    begun(client, endless, "both")
    patterns = [f"/{n}x/" for n in range(20)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: client.limits("both", exclude=[one]), patterns))
    assert sorted(client.limits("both").exclude) == sorted(patterns)
    client.cancel("both")
