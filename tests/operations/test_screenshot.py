"""`scrape` with a screenshot, through a real `gossamer serve` and browser."""

from __future__ import annotations

import os
import shutil

import pytest

import gossamer
from operations.conftest import server, web
from operations.service_process import Serving

__all__ = ["server", "web"]


@pytest.mark.skipif(
    shutil.which("chromium") is None and os.environ.get("CI") != "true", reason="needs chromium"
)
def test_a_page_with_its_picture(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    found = client.scrape(f"{web}/3", screenshot="full")
    assert found.screenshot is not None, found.errors
    assert found.screenshot.startswith(b"\x89PNG")
    assert found.page is not None
    assert (found.page["title"], "screenshot" in found.page) == ("t/3", False)
    assert {one["rung"] for one in found.attempts if one["outcome"] == "done"} <= {"browser", "plain"}
    assert client.scrape(f"{web}/3").screenshot is None
    answer = server.ask("POST", "/v1/scrape", {"url": f"{web}/3", "screenshot": "all"})
    assert (answer.status, "all" in answer.json["detail"]) == (400, True)
