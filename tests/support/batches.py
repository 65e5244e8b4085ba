"""Runs all cases of a parametrised test in one item, where the cases are nothing but data.

Thousands of cases take a few microseconds each, but a millisecond in each process that collects them, and
some more to report each. `./test` sets TEST_BATCHES; without it, each case is an item with a name of its own.
"""

from __future__ import annotations

import inspect
import itertools
import os
import reprlib
from collections.abc import Callable, Collection
from typing import Any

import pytest

BATCHES = bool(os.environ.get("TEST_BATCHES"))
SHOWN = 10
"""The number of failed cases whose errors are shown in full. All of them are named."""
LONE = {"slow", "timeout", "usefixtures", "asyncio"}
"""Marks of tests whose cases stay apart."""
HARMLESS = {"no_secrets_of_other_tests", "event_loop_policy"}
"""Fixtures of a test that all cases may share."""
PARAM = type(pytest.param())

Case = dict[str, Any]


def batch(module: pytest.Module, name: str, test: object) -> pytest.Function | None:
    """Returns one item for all cases of a test, or None if the cases are more than data: if the test is
    asynchronous or has fixtures, or treats single cases in another way."""
    marks = list(getattr(test, "pytestmark", ()))
    tables = [table(mark) for mark in marks if mark.name == "parametrize"]
    cases = [one for one in tables if one is not None]
    if (
        not inspect.isfunction(test)
        or not name.startswith("test")
        or inspect.iscoroutinefunction(test)
        or not tables
        or len(cases) < len(tables)
        or LONE.intersection(mark.name for mark in (*marks, *module.own_markers))
        or {key for some in cases for case in some for key in case} != {*inspect.signature(test).parameters}
    ):
        return None
    run = together(test, cases)
    run.pytestmark = [mark for mark in marks if mark.name != "parametrize"]  # type: ignore[attr-defined]
    item: pytest.Function = pytest.Function.from_parent(module, name=name, callobj=run)
    return None if set(item.fixturenames) - HARMLESS else item


def table(mark: pytest.Mark) -> list[Case] | None:
    """Returns the cases of a `parametrize`, or None if it says more than names, values and ids."""
    if len(mark.args) != 2 or mark.kwargs.keys() - {"ids"} or not isinstance(mark.args[1], Collection):
        return None
    names, values = mark.args
    single = isinstance(names, str) and "," not in names
    words = (
        [word.strip() for word in names.split(",") if word.strip()] if isinstance(names, str) else list(names)
    )
    found = []
    for value in values:
        row = (value,) if single else value
        if isinstance(value, PARAM):
            if value.marks:
                return None
            row = value.values
        found.append(dict(zip(words, row, strict=True)))
    return found


def together(test: Callable[..., None], tables: list[list[Case]]) -> Callable[[], None]:
    """Returns a test that runs each combination of cases, and names all that fail."""

    def run() -> None:
        failed: list[Exception] = []
        skipped: list[BaseException] = []
        ran = 0
        for rows in itertools.product(*tables):
            case = {name: value for row in rows for name, value in row.items()}
            ran += 1
            try:
                test(**case)
            except pytest.skip.Exception as reason:
                skipped.append(reason)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - the other cases run too
                shown = error if isinstance(error, Exception) else AssertionError(str(error))
                shown.add_note(reprlib.repr(case))
                failed.append(shown)
        if failed:
            names = "\n".join(error.__notes__[-1] for error in failed)
            raise ExceptionGroup(f"{len(failed)} of {ran} cases failed:\n{names}\n", failed[:SHOWN])
        if len(skipped) == ran and skipped:
            raise skipped[0]

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    run.place_as = test  # type: ignore[attr-defined] - the place that pytest shows
    return run
