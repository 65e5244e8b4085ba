"""A web site as the user describes it in one file. Page functions are registered by name and have no side
effects.

site = Site("books", hosts=["books.toscrape.com"], seeds=["https://books.toscrape.com/"])

@site.page(r"/catalogue/[^/]+/index\\.html$")
def book(page): ...
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from gossamer import url as urls
from gossamer.config import plugins, value_parsers
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, UnknownParameter
from gossamer.model import item as items
from gossamer.model import rendering
from gossamer.model.absence import MAX_GONE_SHARE
from gossamer.model.login import Login
from gossamer.model.proxy import Wanted, parse_wanted
from gossamer.model.request import Request
from gossamer.url import patterns, routes

KNOWN = (
    "hosts",
    "seeds",
    "paths",
    "follow",
    "ladder",
    "collector",
    "browser",
    "render",
    "fragments",
    "unlocker",
    "proxies",
    "pace",
    "host_rate",
    "headers",
    "must_have",
    "blocks",
    "session",
    "lane",
    "region",
    "retries",
    "robots",
    "sinks",
    "steps",
    "gates",
    "complete",
    "revisit",
    "revisit_budget",
    "max_age",
    "min_age",
    "importance",
    "types",
    "args",
)

Seeds = str | Request | Iterable[str | Request]
Follow = None | bool | str | Iterable[str] | Callable[[Any], Iterable[Any]]


class Pace(NamedTuple):
    """The pace of the site's hosts: the seconds between the starts of two requests, and the number of
    concurrent requests. A Crawl-delay in robots.txt remains the minimum."""

    delay: float | None = None
    per_host: int | None = None


class Function(NamedTuple):
    """A page function: its name, the pattern of its URLs (None: every URL), the callable, and the class of
    its items."""

    name: str
    pattern: patterns.Searcher | None
    call: Callable[[Any], Any]
    item: type | None = None
    statuses: frozenset[int] = frozenset()
    """The error statuses (4xx) of the pages that the function reads. If `statuses` is empty, the function
    reads only pages without an error status."""

    def reads(self, status: int) -> bool:
        """Returns whether the function reads pages with this status."""
        return status in self.statuses if self.statuses else status < 400


class Site:
    """A web site. All parameters except the name are optional. Raises ConfigError. If a site file is being
    loaded, the message names the file. A loaded site is immutable.

    - `hosts`: `example.com` (only this host) or `*.example.com`. By default, the hosts of the seeds belong to
    the site. With `--scope host`, only hosts that `hosts` names in full are in scope. With `--scope domain`,
    hosts that match an entry such as `*.example.com` are also in scope.
    - `paths`: patterns of URLs (path and query) that belong to the site.
    - `seeds`: URLs, or a function that receives the site's arguments and returns URLs.
    - `follow`: which links are followed. None means the URLs that the page functions yield or, without page
      functions, all links in scope. True means all links in scope. False means no links. Other values are a
      list of patterns, which the followed links match, or a function that receives the page and returns the
      links to follow.
    - `pace`: seconds between the starts of two requests to a host, or a `Pace`.
    - `host_rate`: requests per second to a host, or text such as `30/m`: an alternative to the delay of
      `pace`.
    - `headers`: headers that are only sent to the site's hosts.
    - `must_have`: selectors that every good page must match.
    - `blocks`: patterns that mark a page as a block, in addition to the built-in ones. `!login` excludes a
    kind or vendor. False means that no page counts as a block.
    - `retries`: the wait before each retry (seconds, or text such as `5m`), or "none".
    - `robots`: if False, robots.txt is fetched and its Crawl-delay is respected, but its rules are ignored.
    - `session`: a `Login` for pages behind a log-in.
    - `sinks`: outputs for the site's items in addition to those of the crawl, in the form of `-o`, or classes
      and objects with a method `write(rows)`.
    - `steps`: callables `step(item, page)` that each item passes through, classes of such callables, or names
    of installed steps (`gossamer.items.steps`). A step may have `open(context)` and `close()`.
    - `gates`: quality gates for this site, in the form of `--fail-on`.
    - `complete`: a full crawl sees all items of the site. In stores that keep one row per item, items that
      the crawl does not see are marked as gone. One run marks at most 20 % of the items as gone, unless
      `complete` sets another share, as in `complete=0.5`.
    - `revisit`: visits known pages again and again. The value is `auto`, or an interval such as `24h`.
      `revisit_budget`, `max_age`, `min_age`: the settings with these names, for this site. `importance`: maps
      patterns of URLs to the weights of their pages, as in `{"/product/": 5}`. A list of texts is also
      accepted, as in `["inlinks", "/product/=5"]`.
    - `ladder`: the ways to fetch the site's pages: some of plain, impersonated, browser, unlocker.
    - `collector`: fetches the site's pages in place of gossamer's own collectors. The collector is a function
      of the request, or an object with a method `collect(request)`. The function or method may be async, and
      returns a `Response`, bytes or text.
    - `browser`: names of browsers to imitate on the impersonated rung. `firefox` alone also means that Firefox
      loads the site's pages on the browser rung.
    - `render`: what the browser rung waits for (`load`, `idle`, or a selector), `human` to imitate a person, or
      a mapping: `{"wait": ..., "scroll": {"press": ".more"}, "load": ["images", "fonts", "media"]}`.
    - `fragments`: `routes` if `#/route` URLs are separate pages, which need the browser rung. `drop` if
      `#/route` URLs are not separate pages. By default the setting `fragments` applies.
    - `unlocker`: options of the unlocker, for example `render=true&wait_for=.price`.
    - `proxies`: which of the crawl's proxies are used, for example `residential country=de,fr provider=acme
      rotation=session`.
    - `lane`: in a fleet, only workers of this lane visit the site's hosts. `region`: in a fleet, only workers
      in this region visit the site's hosts.
    - `types`: media types that the functions can parse in addition to text, for example `application/pdf`.
    - `args`: maps the names of the site's arguments to their default values. The option `-a name=value` sets
      an argument. Functions read `site.args["name"]`.
    """

    _frozen = False

    def __new__(cls, name: str = "", *_: Any, **parameters: Any) -> Site:
        """Raises UnknownParameter for a parameter that does not exist."""
        for word in parameters:
            if word not in KNOWN and word != "name":
                raise UnknownParameter(_unknown(name, word))
        return super().__new__(cls)

    def __init__(
        self,
        name: str,
        *,
        hosts: str | Iterable[str] = (),
        seeds: Seeds | Callable[[Mapping[str, Any]], Seeds] = (),
        paths: str | Iterable[str] = (),
        follow: Follow = None,
        ladder: str | Iterable[str] | None = None,
        collector: Any = None,
        browser: str | Iterable[str] = (),
        unlocker: str = "",
        render: rendering.Said = None,
        fragments: str | None = None,
        proxies: Any = None,
        pace: Pace | float | str | None = None,
        host_rate: float | str | None = None,
        headers: Mapping[str, str] | None = None,
        must_have: str | Iterable[str] = (),
        blocks: bool | str | Iterable[str] = True,
        session: Login | None = None,
        lane: str | None = None,
        region: str | None = None,
        retries: str | Sequence[float | str] | None = None,
        robots: bool = True,
        sinks: Any = (),
        steps: Any = (),
        gates: str | Iterable[str] = (),
        complete: bool | float | str = False,
        revisit: str | float | None = None,
        revisit_budget: str | None = None,
        max_age: str | float | None = None,
        min_age: str | float | None = None,
        importance: Mapping[str, float] | Iterable[str] = (),
        types: str | Iterable[str] = (),
        args: Mapping[str, Any] | None = None,
    ) -> None:
        def read(word: str, reader: Callable[[Any], Any], value: Any) -> Any:
            try:
                return reader(value)
            except (ValueError, TypeError, AttributeError) as error:
                # the whole value of a header may be a secret, and of many seeds the error names the wrong one
                shown = "=..." if word in ("headers", "session") else "" if word == "seeds" else f"={value!r}"
                raise ConfigError(mask(f"site {name}: {word}{shown}: {error}")) from None

        self.name: str = _name(name)
        self.fragments: str = "" if fragments is None else read("fragments", _fragments, fragments)
        self._seeds_of = seeds if callable(seeds) else None
        self.seeds: tuple[str | Request, ...] = () if callable(seeds) else read("seeds", _seeds, seeds)
        own = read("hosts", _hosts, hosts)
        if self._seeds_of is not None and not own:
            raise ConfigError(f"site {name}: seeds is a function of the arguments: also name hosts=[...]")
        self.hosts: tuple[str, ...] = own or tuple(dict.fromkeys(map(seed_host, self.seeds)))
        self.paths: tuple[patterns.Searcher, ...] = read("paths", _patterns, paths)
        self.follow = read("follow", _follow, follow)
        self.ladder: tuple[str, ...] = read(
            "ladder", lambda value: value_parsers.ladder(_several(value)), ladder
        )
        self.collector: Callable[[Any], Any] | None = read("collector", _collector, collector)
        if self.collector is not None and ladder is not None:
            raise ConfigError(f"site {name}: its own collector fetches its pages: leave out ladder=")
        if self.collector is not None and session is not None:
            raise ConfigError(f"site {name}: its own collector logs in itself: leave out session=")
        self.browser: tuple[str, ...] = read("browser", _several, browser)
        self.unlocker: str = read(
            "unlocker", lambda value: value_parsers.line(value) if value else "", unlocker
        )
        self.proxies: Wanted | None = None if proxies is None else read("proxies", parse_wanted, proxies)
        self.render: rendering.Render = read("render", rendering.read_rendering, render)
        self.lane: str = read("lane", value_parsers.lane, "http" if lane is None else lane)
        self.says_lane, self.says_ladder = lane is not None, ladder is not None
        self.region: str | None = None if region is None else read("region", value_parsers.label, region)
        self.pace: Pace | None = read("host_rate", partial(_at_rate, read("pace", _pace, pace)), host_rate)
        self.headers: Mapping[str, str] = MappingProxyType(read("headers", value_parsers.headers, headers))
        self.must_have: tuple[str, ...] = read("must_have", _several, must_have)
        self.blocks: bool | tuple[patterns.Searcher, ...] = read("blocks", _blocks, blocks)
        self.session: Login | None = read("session", _session, session)
        self.retries: tuple[float, ...] | None = read("retries", _retries, retries)
        self.robots: bool = read("robots", value_parsers.flag, robots)
        self.own_sinks: Mapping[str, Any] = MappingProxyType({})
        """Maps the placeholder URLs in `sinks` to the classes or objects that are the sinks."""
        self.sinks: tuple[str, ...] = read("sinks", self._sinks, sinks)
        self.steps: tuple[Callable[..., Any], ...] = read("steps", _steps, steps)
        self.gates: tuple[str, ...] = read("gates", _several, gates)
        self.complete: float = read("complete", _complete, complete)
        self.revisit: str | None = (
            None if revisit is None else read("revisit", value_parsers.revisit, revisit)
        )
        self.revisit_budget: str | None = (
            None if revisit_budget is None else read("revisit_budget", value_parsers.budget, revisit_budget)
        )
        self.max_age: float | None = None if max_age is None else read("max_age", value_parsers.span, max_age)
        self.min_age: float | None = None if min_age is None else read("min_age", value_parsers.span, min_age)
        self.importance: tuple[str, ...] = read("importance", value_parsers.importance, importance)
        self.types: tuple[str, ...] = read("types", value_parsers.media_types, types)
        self.defaults: Mapping[str, Any] = MappingProxyType(read("args", dict, args or {}))
        self.args: Mapping[str, Any] = self.defaults
        self.functions: Sequence[Function] = []
        self.solver: Callable[..., Any] | None = None
        self.before_function: Callable[[Any], Any] | None = None
        self.failed_function: Callable[[Any], Any] | None = None

    def __repr__(self) -> str:
        functions = ", ".join(one.name for one in self.functions)
        return f"<Site {self.name}: hosts {', '.join(self.hosts) or '-'}; functions {functions or '-'}>"

    def _sinks(self, given: Any) -> tuple[str, ...]:
        """Returns the outputs in the form that the option `-o` accepts. If an output is given as a class or
        an object, the result contains a placeholder URL for the output."""
        several = (given,) if isinstance(given, str) or hasattr(given, "write") else tuple(given or ())
        found, own = list[str](), dict[str, Any]()
        for one in several:
            if isinstance(one, str):
                found.append(one)
                continue
            if not callable(getattr(one, "write", None)):
                raise TypeError(
                    f"a sink must be an output like those of -o, or have a method write(rows), and {one!r} is neither"
                )
            name = one.__name__ if inspect.isclass(one) else type(one).__name__
            url = f"site://{self.name}/{name}"
            if url in own:
                url += f"-{len(own) + 1}"
            own[url] = one
            found.append(url)
        self.own_sinks = MappingProxyType(own)
        return tuple(found)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._frozen:
            raise AttributeError(
                f"site {self.name} is frozen once its file is loaded: page functions must not change it"
            )
        super().__setattr__(name, value)

    def freeze(self, args: Mapping[str, str]) -> None:
        """Sets the site's arguments, and makes the site immutable. An argument that `args` does not contain
        gets its default value."""
        self.__dict__["args"] = MappingProxyType(
            {name: args.get(name, own) for name, own in self.defaults.items()}
        )
        self.__dict__["functions"] = tuple(self.functions)
        if self._seeds_of is not None:
            try:
                self.__dict__["seeds"] = _seeds(self._seeds_of(self.args))
            except Exception as error:  # noqa: BLE001 - the site's own code
                raise ConfigError(
                    mask(f"site {self.name}: seeds(args): {type(error).__name__}: {error}")
                ) from None
        self.__dict__["_frozen"] = True

    def page(
        self,
        pattern: str | None = None,
        name: str | None = None,
        item: type | None = None,
        status: int | Iterable[int] = (),
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers a page function for pages whose URL (path and query) matches the pattern. If several
        functions match, the first in the file gets the page. A function without a pattern gets all other
        pages. Page functions yield items, requests, or URLs as text. `item`: the class of the function's
        items. If the function yields a dict, the dict is validated and stored as an item of that class.
        `status`: the error statuses of the pages that the function reads, for example `status=[404, 410]`. A
        function that does not list an error status never gets pages with this status."""
        if callable(pattern):
            raise ConfigError(f"site {self.name}: write @site.page() above {pattern.__name__}, with brackets")
        try:
            compiled = None if pattern is None else _pattern(pattern)
        except ValueError as error:
            raise ConfigError(f"site {self.name}: @site.page({pattern!r}): {error}") from None
        if item is not None and not items.is_class(item):
            raise ConfigError(
                f"site {self.name}: item={item!r} is not a class of items: an Item, a dataclass or a "
                "pydantic model"
            )

        statuses: frozenset[Any] = frozenset((status,) if isinstance(status, int) else status)
        if odd := [one for one in statuses if not isinstance(one, int) or not 400 <= one < 500]:
            raise ConfigError(
                f"site {self.name}: @site.page(status={odd[0]!r}): name error statuses of pages, 400 to 499"
            )

        def register(call: Callable[..., Any]) -> Callable[..., Any]:
            known = name or call.__name__
            if any(function.name == known for function in self.functions):
                raise ConfigError(f"site {self.name}: two page functions are named {known}")
            if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
                raise ConfigError(
                    f"site {self.name}: {known} reads a page that is already loaded: write def, not async def"
                )
            if not _takes_a_page(call):
                raise ConfigError(
                    f"site {self.name}: {known} is called with the page alone: write def {known}(page)"
                )
            self.functions = [*self.functions, Function(known, compiled, call, item, statuses)]
            return call

        return register

    def captcha(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Registers the function that is called for pages that demand a captcha or another proof. The
        function returns headers for another try, or None."""
        if self.solver is not None:
            raise ConfigError(f"site {self.name}: it has two functions with @site.captcha")
        self.solver = call
        return call

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Registers the function that is called with each request just before it is sent, for example to sign
        it. The function gets an `OutgoingRequest`, and may change its headers, the query of its URL, and its
        body."""
        self.before_function = self._only("before", call, self.before_function)
        return call

    def failed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Registers the function that is called for each URL that failed permanently. A URL fails permanently
        after its last retry, or if no function of the site reads its error status. The function gets a
        `FailedVisit`, and yields items and requests like a page function."""
        self.failed_function = self._only("failed", call, self.failed_function)
        return call

    def _only(
        self, name: str, call: Callable[..., Any], known: Callable[..., Any] | None
    ) -> Callable[..., Any]:
        """Checks a function that can be registered only once per site, and returns it. Raises ConfigError."""
        if known is not None:
            raise ConfigError(f"site {self.name}: it has two functions with @site.{name}")
        if inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
            raise ConfigError(f"site {self.name}: @site.{name}: write def {call.__name__}, not async def")
        if not _takes_a_page(call):
            raise ConfigError(f"site {self.name}: @site.{name}: {call.__name__} is called with one argument")
        return call

    @property
    def all_patterns(self) -> tuple[patterns.Searcher, ...]:
        """The patterns that are matched against URLs and pages."""
        pages = [one.pattern for one in self.functions if one.pattern is not None]
        follow = self.follow if isinstance(self.follow, tuple) else ()
        return (*pages, *self.paths, *follow, *(self.blocks if isinstance(self.blocks, tuple) else ()))

    def function(self, url: str, use: str | None = None, status: int = 200) -> Function | None:
        """Returns the function that parses a page. If the request names a function, returns this function.
        Otherwise, returns the first function whose pattern matches the URL. A page with an error status goes
        to a function for this status."""
        if use is not None and status < 400:
            return next((function for function in self.functions if function.name == use), None)
        path = _path(url)
        bare = None
        for function in self.functions:
            if not function.reads(status):
                continue
            if function.pattern is None:
                bare = bare or function
            elif function.pattern.search(path):
                return function
        return bare

    def takes_path(self, url: str) -> bool:
        """Returns whether the path and query of a URL belong to this site."""
        if not self.paths:
            return True
        path = _path(url)
        return any(patterns.found(own, path, on_timeout=False) for own in self.paths)

    def claims(self, host: str) -> int:
        """Returns how specifically the site names a host. The number is 0 if the site does not name the host.
        The number is higher for an exact host than for an entry such as `*.example.com`, and higher for a
        longer name than for a shorter name. A host without a port matches any port."""
        if host in self.hosts:
            return 1000 + len(host)
        bare = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
        best = 0
        for own in self.hosts:
            if own == bare:
                best = max(best, 1000 + len(own))
            elif own.startswith("*.") and (bare.endswith(own[1:]) or bare == own[2:]):
                best = max(best, len(own))
        return best


def _path(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


def _several(values: Any) -> tuple[str, ...]:
    found = (values,) if isinstance(values, str) else tuple(values or ())
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"it must be a list of texts, and {one!r} is not a text")
    return found


def _complete(value: object) -> float:
    """Returns the share of the stored items that one run may mark as gone. If `value` is false, the share is
    0, and no items are marked."""
    text = str(value)
    try:
        return MAX_GONE_SHARE if value_parsers.flag(text) else 0.0
    except ValueError:
        share = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= share <= 1:
        raise ValueError("write True, False, or the share of the items that may go in one run, as 0.5 or 50%")
    return share


def _name(name: Any) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
        raise ConfigError(f"site {name!r}: a name has letters, digits, '.', '_' and '-', at most 80")
    return name


def _unknown(name: str, word: str) -> str:
    close = value_parsers.nearest(word, [f"{known}=" for known in KNOWN])
    return f"site {name}: Site() knows no {word}=" + (close or f"; it knows {', '.join(KNOWN)}")


def _hosts(hosts: Any) -> tuple[str, ...]:
    return tuple(map(_host, _several(hosts)))


def _host(host: str) -> str:
    bare = host.removeprefix("*.")
    if "/" in host or "@" in host:
        raise ValueError("give the host alone, as 'example.com' or 'example.com:8080'")
    if host == "*":
        raise ValueError("for every host without a site name the variable: default = Site(...)")
    parsed = None if "*" in bare else urls.parse(f"http://{bare}/")
    if parsed is None:
        raise ValueError(f"{host!r} is not a host")
    return host[: len(host) - len(bare)] + urls.host(parsed)


def seed_host(seed: str | Request) -> str:
    """Returns the host of a seed."""
    return urls.host(seed if isinstance(seed, str) else seed.url)


def _seeds(seeds: Any) -> tuple[str | Request, ...]:
    return tuple(map(_seed, (seeds,) if isinstance(seeds, str | Request) else seeds or ()))


def _seed(seed: Any) -> str | Request:
    url = seed.url if isinstance(seed, Request) else seed
    if not isinstance(url, str):
        raise TypeError(f"{seed!r} is not a URL or a Request")
    parsed = urls.parse(url)
    if parsed is None or not parsed.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not an http(s) URL")
    found = routes.seed_with_route(parsed)
    return msgspec.structs.replace(seed, url=found) if isinstance(seed, Request) else found


def _fragments(value: str) -> str:
    return value_parsers.one_of(routes.MODES, value)


def _patterns(given: Any) -> tuple[patterns.Searcher, ...]:
    several = (given,) if isinstance(given, str | re.Pattern) else tuple(given or ())
    return tuple(map(_pattern, several))


def _blocks(blocks: Any) -> bool | tuple[patterns.Searcher, ...]:
    return blocks if isinstance(blocks, bool) else _patterns(blocks)


def _pattern(text: Any) -> patterns.Searcher:
    if isinstance(getattr(text, "pattern", text), bytes):
        raise ValueError(f"{text!r} is bytes: write it as text")
    try:
        return patterns.compile_(text)
    except (re.error, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None


def _follow(follow: Follow) -> Any:
    return follow if follow is None or isinstance(follow, bool) or callable(follow) else _patterns(follow)


def _pace(pace: Pace | float | str | None) -> Pace | None:
    if pace is None:
        return None
    delay, at_once = pace if isinstance(pace, Pace) else (pace, None)
    if isinstance(delay, float):  # rounds the result of sums such as 0.1 + 0.2
        delay = round(delay, 6)
    return Pace(
        None if delay is None else value_parsers.seconds(delay),
        None if at_once is None else value_parsers.count(1, 1000, at_once),
    )


def _at_rate(pace: Pace | None, host_rate: float | str | None) -> Pace | None:
    """Returns a pace with the delay that results from `host_rate`. If `host_rate` is None, returns `pace`.
    Raises ValueError if the pace already has a delay."""
    if host_rate is None:
        return pace
    if pace is not None and pace.delay is not None:
        raise ValueError("pace= also sets the delay: give only one of them")
    return Pace(1 / value_parsers.host_rate(host_rate), None if pace is None else pace.per_host)


def _collector(given: Any) -> Callable[[Any], Any] | None:
    """Returns the function that fetches a page."""
    if given is None:
        return None
    call = getattr(given, "collect", given)
    if inspect.isclass(given) or not callable(call):
        raise TypeError("it must be a function of the request, or an object with a method collect(request)")
    try:
        inspect.signature(call).bind(None)
    except TypeError:
        raise TypeError("it is called with only the request: write collect(request)") from None
    return call  # type: ignore[no-any-return]


def _steps(steps: Any) -> tuple[Callable[..., Any], ...]:
    given = (steps,) if callable(steps) or isinstance(steps, str) else tuple(steps)
    found = tuple(plugins.load("gossamer.steps", step) if isinstance(step, str) else step for step in given)
    if odd := [step for step in found if not callable(step)]:
        raise TypeError(f"a step must be a function of the item and the page, and {odd[0]!r} is not")
    for step in found:
        call = step.__call__ if inspect.isclass(step) else step
        if inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(step).__call__):
            raise TypeError(
                f"a step is not awaited: write {getattr(step, '__name__', step)} with def, not async def"
            )
        if inspect.isclass(step):
            _takes_nothing(step)
    return found


def _takes_nothing(step: type) -> None:
    """Raises TypeError if a step class cannot be called without arguments."""
    if "__call__" not in dir(step) or step.__call__ is type.__call__:
        raise TypeError(f"the step {step.__name__} has no method __call__(self, item, page)")
    try:
        inspect.signature(step).bind()
    except TypeError:
        raise TypeError(
            f"the step {step.__name__} needs arguments: write steps=[{step.__name__}(...)]"
        ) from None
    except ValueError:  # the class is written in C and has no signature
        return


def _retries(retries: Any) -> tuple[float, ...] | None:
    if isinstance(retries, int | float):
        raise ValueError("write the wait before each retry, such as ['1m', '5m'], or 'none'")
    return None if retries is None else value_parsers.retries(retries)


def _session(session: Any) -> Login | None:
    if session is not None and not isinstance(session, Login):
        raise TypeError("it must be a Login: from gossamer import Login")
    return session


def _takes_a_page(call: Callable[..., Any]) -> bool:
    """Returns whether a callable accepts one argument. Returns True if the callable's signature is not
    known."""
    try:
        inspect.signature(call).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
