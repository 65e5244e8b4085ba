"""Runs every example in a docstring of the package."""

from __future__ import annotations

import doctest
import importlib

import pytest

from house.tree import package


@pytest.mark.parametrize(
    "name", sorted({source.module or "" for source in package() if "    >>> " in source.text})
)
def test_the_examples_of_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
