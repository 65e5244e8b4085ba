"""The examples in the docstrings of the pure functions hold."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from gossamer import url
from gossamer.identity import cookies
from gossamer.parsing import encoding_labels, encodings
from gossamer.url import domains, scope, tracking, traps


@pytest.mark.parametrize(
    "module",
    [url, tracking, domains, scope, traps, encodings, encoding_labels, cookies],
    ids=lambda m: m.__name__,
)
def test_examples(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
