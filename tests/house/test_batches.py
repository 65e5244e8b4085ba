"""tests/support/batches.py runs all cases of a test that are nothing but data in one item, and names each that
fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.batches import batch, table, together

NUMBERS = pytest.mark.parametrize("n", [1, 2, 3], ids=["one", "two", "three"])


def test_all_cases_run_and_each_that_fails_is_named() -> None:
    ran = []

    def check(n: int, word: str) -> None:
        ran.append((n, word))
        if n == 1:
            pytest.skip("not this one")
        assert n != 2

    words = pytest.mark.parametrize("word,", [("a",), ("b",)])
    with pytest.raises(ExceptionGroup, match="2 of 6 cases failed") as told:
        together(check, [table(NUMBERS.mark) or [], table(words.mark) or []])()
    assert ran == [(n, word) for n in (1, 2, 3) for word in "ab"]
    assert [error.__notes__ for error in told.value.exceptions] == [
        ["{'n': 2, 'word': 'a'}"],
        ["{'n': 2, 'word': 'b'}"],
    ]


def test_cases_that_are_more_than_data_stay_apart(request: pytest.FixtureRequest) -> None:
    module = request.node.getparent(pytest.Module)

    def made(test: Any, *marks: pytest.MarkDecorator) -> pytest.Function | None:
        test.pytestmark = [decorator.mark for decorator in marks]
        return batch(module, "test_it", test)

    def plain(n: int) -> None: ...

    async def waits(n: int) -> None: ...

    def reads(n: int, tmp_path: Path) -> None: ...

    whole = made(plain, NUMBERS, pytest.mark.skipif(True, reason="no"))
    assert whole is not None
    assert [mark.name for mark in whole.own_markers] == ["skipif"]
    one = pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.xfail)])
    indirect = pytest.mark.parametrize("n", [1], indirect=True)
    assert [
        made(plain),
        made(plain, one),
        made(plain, indirect),
        made(plain, NUMBERS, pytest.mark.slow),
        made(waits, NUMBERS),
        made(reads, NUMBERS),
    ] == [None] * 6
