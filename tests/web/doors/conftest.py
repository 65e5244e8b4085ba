"""One `gossamer serve` with a folder of site files, and the small web that it crawls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli.command_line import Pages
from operations.conftest import SITE
from operations.service_process import Serving, served_folder
from support.answers import answering


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with answering(Pages) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, web: str) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("doors")
    (folder / "sites").mkdir()
    (folder / "sites" / "shop.py").write_text(SITE.replace("WEB", web))
    with served_folder(folder, "--sites", "sites", "-s", "retries=none") as found:
        yield found
