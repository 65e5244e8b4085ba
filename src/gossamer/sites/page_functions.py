"""Applies a site's page function to a page. The module does no I/O, limits the number of results, and returns
errors as values."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gossamer.config.redaction import mask
from gossamer.config.stdout_redirect import stdout_to_stderr
from gossamer.items.steps import Stop
from gossamer.model.item import exception_message, is_ctrl_c, is_item
from gossamer.model.request import Request
from gossamer.model.site import Function
from gossamer.parsing.page_view import NEEDS, PageView
from gossamer.sites.loaded_site import LoadedSite
from gossamer.url.patterns import PatternTimeout

MAX_VALUES = 100_000
"""Maximum number of values that a page function may yield per page."""


class PageResult(msgspec.Struct):
    """The result of a page function. If the function fails, `error` is `parse`, `detail` is the error
    message, and the items and requests that it yielded before are dropped."""

    items: list[Any] = []
    requests: list[Request] = []
    error: str | None = None
    detail: str = ""
    function: str = ""
    """The name of the page function, or '' if the site has no function for the page."""
    item: type | None = None
    """The item class for the dicts that the page function yields."""
    stop: str = ""
    """The reason why the page function stops the crawl (`Stop`), or '' if the crawl continues."""
    missing: str = ""
    """The first selector in the site's `must_have` that matches nothing on the page."""
    raised: BaseException | None = None
    """The exception of the page function."""


def run(loaded: LoadedSite, view: PageView) -> PageResult:
    """Runs the page function for a page. If the page function raises an error, the result's `error` is
    set."""
    site = loaded.site
    use = view.request_.use
    try:
        function = site.function(view.url, use, view.status)
    except PatternTimeout as error:
        return PageResult(error="parse", detail=f"@site.page of site {site.name}: {error}")
    try:
        missing = missing_selector(loaded, view) if view.status < 400 else ""
    except ValueError as error:
        return PageResult(error="parse", detail=f"must_have of site {site.name}: {error}")
    if missing:
        detail = f"the page has no {missing!r}, which site {site.name} must have"
        return PageResult(error="missing", detail=detail, missing=missing)
    if function is None:
        if use is not None and view.status < 400:
            known = ", ".join(one.name for one in site.functions)
            return PageResult(
                error="parse",
                detail=f"site {site.name} has no page function {use!r}; it has {known or 'none'}",
            )
        return PageResult()
    return call_function(loaded, function.call, view, view, function)


def call_function(
    loaded: LoadedSite,
    call: Callable[[Any], Any],
    argument: Any,
    view: PageView,
    function: Function | None = None,
) -> PageResult:
    """Calls a function of a site, and sorts the values that it yields into items and requests. If the
    function raises an error, the result's `error` is set. `view`: the page to which relative URLs and new
    requests refer."""
    name = call.__name__ if function is None else function.name
    parsed, yielded = PageResult(function=name, item=None if function is None else function.item), None
    try:
        with stdout_to_stderr:  # stdout is reserved for data
            yielded = call(argument)
            _sort(yielded if yielded is not None else (), view, parsed)
    except Stop as stop:
        parsed.stop = exception_message(stop) or f"{name}()"
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        detail = _detail(loaded.path, error, call, yielded)
        return PageResult(error="parse", detail=detail, function=name, raised=error)
    return parsed


def missing_selector(loaded: LoadedSite, view: PageView) -> str:
    """Returns the first selector in the site's `must_have` that matches nothing, or '' if all selectors
    match. Raises ValueError for an invalid selector."""
    return next((query for query in loaded.site.must_have if not view.css(query)), "")


def gather_follow(
    loaded: LoadedSite, follow: Callable[[PageView], Iterable[Any]], view: PageView
) -> tuple[list[Request], str | None]:
    """Returns the requests that a `follow=` function yields, and the error or None."""
    parsed = PageResult()
    try:
        with stdout_to_stderr:
            _sort(follow(view), view, parsed)
        if parsed.items:
            raise TypeError("follow= gives links and requests, no items")
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        return [], _detail(loaded.path, error, follow, None)
    return parsed.requests, None


def _sort(yielded: Iterable[Any], view: PageView, parsed: PageResult) -> None:
    if not isinstance(yielded, list | Iterator) and (
        isinstance(yielded, str) or is_item(yielded)
    ):  # a request is also a Struct
        yielded = (yielded,)
    for number, one in enumerate(yielded):
        if number >= MAX_VALUES:
            raise ValueError(f"it yields more than {MAX_VALUES} things")
        if isinstance(one, Request):
            parsed.requests.append(_own(one, view))
        elif one is None:
            continue  # the function yielded a value that it did not find on the page
        elif isinstance(one, str):
            parsed.requests.append(view.request(one))
        elif is_item(one):
            if isinstance(one, dict) and (odd := [name for name in one if not isinstance(name, str)]):
                raise TypeError(f"the field names of an item must be texts, and {odd[0]!r} is not")
            parsed.items.append(one)
        elif isinstance(one, Iterator | list | tuple):
            raise TypeError(
                f"it yields a {type(one).__name__}: write `yield from` where it gives several things"
            )
        else:
            raise TypeError(
                f"it yields {type(one).__name__}: yield items, dicts, requests (page.follow) or URLs"
            )


def _own(request: Request, view: PageView) -> Request:
    """Completes a request that the page function created itself: makes its URL absolute, and sets its depth
    and referrer."""
    if request.referrer == view.url:  # created by view.request
        return request
    needs = {name: value for name in NEEDS if (value := getattr(request, name)) is not None}
    return view.request(request.url, **needs)


def _detail(path: Path, error: BaseException, function: Callable[..., Any], yielded: Any) -> str:
    """Returns the error message with the file and line in the site's own code. If the traceback contains no
    line of the site's own code, the message names the line at which the generator stopped, or the first line
    of the function."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == path.resolve()
    ]
    code, frame = getattr(function, "__code__", None), getattr(yielded, "gi_frame", None)
    if frames:
        where = f"{path.name}:{frames[-1].lineno} in {frames[-1].name}"
    elif code is not None and Path(code.co_filename).resolve() == path.resolve():
        where = f"{path.name}:{code.co_firstlineno if frame is None else frame.f_lineno} in {code.co_name}"
    else:
        where = path.name
    return mask(f"{where}: {type(error).__name__}: {exception_message(error)}")
