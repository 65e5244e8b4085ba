"""A crawl loads the pages of one site with Firefox and the pages of another site with Chromium."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from collectors.browser.conftest import Stage
from gossamer.cli.commands import run
from gossamer.errors import ConfigError

ENGINE = (
    "<!doctype html><title>t</title><p>none</p><script>document.querySelector('p').textContent ="
    " typeof InstallTrigger + ' ' + (CSS.supports('-moz-appearance', 'none') ? 'gecko' : 'blink')</script><a href=/more>more</a>"
)
"""A page whose text names the engine of the browser that loads it."""
SITES = """from gossamer import Site
fox = Site('fox', seeds=['{fox}'], {fox_has})
blink = Site('blink', seeds=['{blink}'], {blink_has})
for site in (fox, blink):
    @site.page()
    def page(page, name=site.name):
        yield {{'site': name, 'engine': page.css('p::text').get().split()[-1]}}
"""
WORDS = ["--name", "two", "--quiet", "--delay", "0", "--retries", "none", "-O", "two.jsonl"]


class Two(NamedTuple):
    """Two hosts with the same pages."""

    fox: Stage
    blink: Stage


@pytest.fixture
def two(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    """Serve two hosts. The working folder is empty."""
    monkeypatch.chdir(tmp_path)
    other = Stage("127.0.0.2")
    threading.Thread(target=other.serve_forever, daemon=True).start()
    for one in (stage, other):
        one.pages |= {"/": ENGINE, "/more": ENGINE, "/robots.txt": (404, {}, "")}
    yield Two(stage, other)
    other.shutdown()
    other.server_close()


def sites(two: Two, fox: str, blink: str) -> str:
    """Write a file of two sites with these parameters, and return its name."""
    at = {"fox": two.fox.url(), "blink": two.blink.url()}
    Path("two.py").write_text(SITES.format(**at, fox_has=fox, blink_has=blink))
    return "two.py"


def items() -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in Path("two.jsonl").read_text().splitlines()]
    return sorted((one["site"], one["engine"]) for one in rows)


def agents(stage: Stage) -> set[str]:
    """Return the first words of the user agents that asked for pages."""
    return {headers["user-agent"].partition("/")[0] for path, headers in stage.seen if path in ("/", "/more")}


def test_each_site_has_its_browser(two: Two) -> None:
    name = sites(two, "ladder='browser', browser='firefox', follow=True", "ladder='browser', follow=True")
    assert run(["crawl", name, *WORDS]) == 0
    assert items() == [("blink", "blink")] * 2 + [("fox", "gecko")] * 2
    assert agents(two.fox) == agents(two.blink) == {"gossamer"}, "neither browser hides who we are"


def test_a_disguised_site_beside_one_in_firefox(two: Two) -> None:
    pytest.importorskip("curl_cffi")
    fox = "ladder='browser', browser='firefox', follow=True"
    blink = "ladder=['impersonated', 'browser'], browser='chrome', must_have='p.none', follow=True"
    assert run(["crawl", sites(two, fox, blink), *WORDS]) in (0, 9)
    assert [one for one in items() if one[0] == "fox"] == [("fox", "gecko")] * 2
    assert (agents(two.fox), agents(two.blink)) == ({"gossamer"}, {"Mozilla"})


def test_the_setting_is_the_default_of_the_sites(two: Two) -> None:
    name = sites(two, "follow=False", "follow=False, browser='chrome'")
    assert run(["crawl", name, *WORDS, "--ladder", "browser", "-s", "browser=firefox"]) == 0
    assert items() == [("blink", "blink"), ("fox", "gecko")]


@pytest.mark.parametrize(
    ("fox", "said"),
    [
        ("ladder='browser', browser='firefox', render={'console': True}", "site fox: console works in Chromium, not in Firefox (browser='firefox')"),
        ("ladder=['impersonated', 'browser'], browser='firefox'", "cannot imitate firefox"),
    ],
)  # fmt: skip
def test_what_firefox_cannot_do_is_said_at_the_start(
    two: Two, capsys: pytest.CaptureFixture[str], fox: str, said: str
) -> None:
    assert run(["crawl", sites(two, fox, "ladder='plain'"), *WORDS]) == ConfigError.exit_code
    assert said in capsys.readouterr().err
    assert two.fox.seen == two.blink.seen == []


def test_a_missing_firefox_is_said_at_the_start(
    two: Two, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    which = shutil.which

    def without(name: str, *more: Any, **rest: Any) -> str | None:
        return None if name.startswith("firefox") else which(name, *more, **rest)

    monkeypatch.setattr(shutil, "which", without)
    name = sites(two, "ladder='browser', browser='firefox'", "ladder='plain'")
    assert run(["crawl", name, *WORDS]) == ConfigError.exit_code
    assert "apt-get install firefox-esr" in capsys.readouterr().err
    assert two.fox.seen == two.blink.seen == []
