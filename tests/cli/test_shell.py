"""Tests of `gossamer shell`: the names at the prompt, and input lines from a pipe or a terminal."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.bookshop import SITE, Bookshop
from cli.command_line import SRC, begin, gossamer
from support import fork_server
from support.answers import answering


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with answering(Bookshop) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def room(tmp_path: Path, shop: str) -> Path:
    (tmp_path / "books.py").write_text(SITE.format(host=shop.partition("://")[2]))
    return tmp_path


def test_lines_of_a_pipe_are_run(room: Path, shop: str) -> None:
    lines = [
        "page",
        "raw",
        "site",
        'page.css("h3 a")[0]',
        "page.title",
        "for n in range(2):",
        "    print(n)",
        "",
    ]
    code, out, err = gossamer(room, "shell", f"{shop}/", "--site", "books.py", text="\n".join(lines))
    assert (code, err) == (0, "")
    host = shop.partition("://")[2]
    assert out.splitlines() == [
        f"<PageView 200 {shop}/>",
        out.splitlines()[1],
        f"<Site books: hosts {host}; functions book, nothing, listing>",
        "<Selector '<a href=\"/book-0/index.html\">The Book of 0</a>'>",
        "'Books'",
        "0",
        "1",
    ]
    assert out.splitlines()[1].startswith(f"<Page 200 {shop}/, ")
    assert " at 0x" not in out


def test_fetch_replaces_the_page(room: Path, shop: str) -> None:
    lines = [
        'fetch("/book-1/index.html", carry={"shelf": "B"})',
        "url",
        "items()",
        'fetch("/secret/x")',
        "url",
    ]
    code, out, err = gossamer(room, "shell", f"{shop}/", "--site", "books.py", text="\n".join(lines))
    url = f"{shop}/book-1/index.html"
    assert (code, out.splitlines()[0], out.splitlines()[1]) == (0, f"<PageView 200 {url}>", f"'{url}'")
    assert "'title': 'The Book of 1'" in out.splitlines()[2]
    assert "'shelf': 'B'" in out.splitlines()[2]
    assert out.splitlines()[3:] == [f"'{url}'"]
    assert "robots.txt disallows" in err
    assert f"`page` is still {url}" in err


def test_an_edited_function_is_tried_at_once(room: Path, shop: str) -> None:
    process = begin(room, "shell", f"{shop}/book-2/index.html", "--site", "books.py")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("items()\n")
    process.stdin.flush()
    assert "'title': 'The Book of 2'" in process.stdout.readline()
    file = room / "books.py"
    file.write_text(file.read_text().replace("title=page", "title='New ' + page"))
    out, err = process.communicate("items()\n", timeout=30)
    assert "'title': 'New The Book of 2'" in out
    assert err == ""


def test_view_saves_the_page_and_links_are_listed(room: Path, shop: str) -> None:
    code, out, _ = gossamer(room, "shell", f"{shop}/", text="links()\nopen(view()).read()[:60]\nitems()\n")
    assert code == 0
    assert f"'{shop}/page-2.html'" not in out  # `links()` prints only the first twenty links
    assert "... 40 in all" in out
    assert f'<base href="{shop}/">' in out
    assert out.splitlines()[-1] == "[]"


def test_an_error_does_not_end_the_shell(room: Path, shop: str) -> None:
    code, out, err = gossamer(room, "shell", f"{shop}/", text="1 / 0\n1 + 1\n")
    assert (code, out) == (0, "2\n")
    assert "ZeroDivisionError" in err
    assert "leaked" not in err


def test_a_terminal_shows_five_lines_and_completes(room: Path, shop: str) -> None:
    terminal, slave = pty.openpty()
    # prevent the import of IPython, which may be installed
    code = "import sys; sys.modules['IPython'] = None; from gossamer.cli import main; main()"
    process = fork_server.Popen(
        [sys.executable, "-c", code, "shell", f"{shop}/", "--site", "books.py"],
        cwd=room,
        env={**os.environ, "PYTHONPATH": str(SRC), "TERM": "dumb"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = until(terminal, ">>> ")
    banner = [line for line in shown.splitlines() if line.strip()][:5]
    assert banner[0].startswith(f"<PageView 200 {shop}/>")
    assert [line.split()[0] for line in banner[1:]] == ["page", "fetch", "items", "links"]
    os.write(terminal, b'fet\t"/book-4/index.html").title\n')
    assert "'Book'" in until(terminal, ">>> ")
    os.write(terminal, b"exit()\n")
    assert process.wait(timeout=30) == 0
    os.close(terminal)


def until(terminal: int, end: str) -> str:
    """Return the terminal's output up to the given text."""
    shown, deadline = "", time.monotonic() + 30
    while not shown.endswith(end):
        assert time.monotonic() < deadline, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536).decode()
    return shown
