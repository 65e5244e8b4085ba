"""Regular expressions that are compiled when they are first used, because a process uses only a few of the
patterns that its modules define."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Stands in for a `re.Pattern`. The first access to an attribute of the pattern compiles the pattern, and
    copies all its attributes to this object."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        vars(self).update((one, getattr(compiled, one)) for one in _ATTRIBUTES)
        return getattr(compiled, name)


_ATTRIBUTES = tuple(name for name in dir(re.Pattern) if not name.startswith("__"))


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Returns a pattern that is compiled when it is first used. If the pattern is invalid, the first use
    raises the error. The returned object is not an instance of `re.Pattern`, so it cannot be passed to
    functions of `re`.

    >>> lazy_pattern("[0-9]+").findall("10 of 12")
    ['10', '12']
    """
    return cast(re.Pattern[AnyStr], _LazyPattern(pattern, flags))
