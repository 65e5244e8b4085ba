"""Output that user code prints goes to stderr, even if the redirections of several threads overlap."""

from __future__ import annotations

import sys
import threading

import pytest

from gossamer.config.stdout_redirect import stdout_to_stderr


def test_prints_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with stdout_to_stderr:
        print("from a page function")
    print("data")
    assert capsys.readouterr() == ("data\n", "from a page function\n")


def test_blocks_that_overlap_leave_stdout_as_it_was() -> None:
    before, first_in, second_in = sys.stdout, threading.Event(), threading.Event()

    def first() -> None:
        with stdout_to_stderr:
            first_in.set()
            second_in.wait()

    def second() -> None:
        first_in.wait()
        with stdout_to_stderr:
            second_in.set()
            one.join()
            assert sys.stdout is sys.stderr

    one, two = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    two.start()
    two.join()
    assert sys.stdout is before
