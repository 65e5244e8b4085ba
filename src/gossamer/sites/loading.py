"""Finds site files in folders, imports them by path under private names, and checks that they do not
conflict."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import traceback
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from gossamer import url as urls
from gossamer.config import value_parsers
from gossamer.config.stdout_redirect import stdout_to_stderr
from gossamer.errors import ConfigError, GossamerError, UsageError
from gossamer.model.item import Item, is_ctrl_c
from gossamer.model.site import Site
from gossamer.sinks import output_spec
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.script_targets import SITE, site_of


def load_all(
    targets: Iterable[str],
    args: Mapping[str, str] | None = None,
    without: Collection[str] | None = None,
    faults: list[str] | None = None,
) -> list[LoadedSite]:
    """Loads the sites of the targets. A target can name a site file, a folder of site files, an installed
    module (`module:NAME`) or a site of a Python program (`site:NAME`). Ignores all other targets. Raises
    ConfigError and UsageError.

    `without` contains the names of sites to leave out. The workers of a fleet use this parameter, because a
    worker may lack some site files. If `without` is given, files that cannot be loaded are skipped, and their
    errors are appended to `faults`. Arguments that none of the loaded sites accepts are also ignored.
    """
    sites: list[LoadedSite] = []
    for target in targets:
        if target.startswith(SITE):
            sites.append(site_of(target))
            continue
        if target.startswith(MODULE):
            sites += load(module_path(target))
            continue
        # os.path returns False for an empty target and for a target that is too long for a file name
        path = Path(target)
        if "://" not in target and (
            os.path.isdir(target) or (path.suffix == ".py" and os.path.isfile(target))
        ):
            sites += load(path) if without is None else _loadable(path, [] if faults is None else faults)
    names: dict[str, LoadedSite] = {}
    for site in sites:
        if other := names.get(site.name):
            raise ConfigError(
                f"{site.path}: the name {site.name!r} is taken by {other.path}: give it another"
            )
        names[site.name] = site
    _overlap(sites)
    given = args or {}
    if without is not None:
        sites = [site for site in sites if site.name not in without]
        given = {
            name: value for name, value in given.items() if any(name in site.site.defaults for site in sites)
        }
    _arguments(sites, given)
    return sites


MODULE = "module:"
"""The prefix of targets that refer to the site file of an installed package, in the form
`module:PACKAGE.MODULE`. Each worker loads a `module:` target from the packages that are installed on its own
machine."""


def module_path(target: str) -> Path:
    """Returns the path of the site file of a target `module:PACKAGE.MODULE`. Raises ConfigError."""
    name = target.removeprefix(MODULE)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ConfigError(f"{target}: there is no module {name} for {sys.executable}: install its package")
    return Path(spec.origin)


_SOURCES: dict[Path, bytes] = {}
"""Maps the path of each file to the content that the file had when it was last loaded."""
_LOADED: dict[tuple[Path, Path, str], list[LoadedSite]] = {}
"""Maps each site file to its loaded sites. The key of a site file is a tuple of the file's path as given, its
real path and its version. The sites are kept here so that each process loads a site file only once. Gossamer
reads a loaded site file again only to check whether the file has changed."""


def sources(sites: Iterable[LoadedSite]) -> list[tuple[str, bytes]]:
    """Returns the path and the content of the sites' files, as they were loaded."""
    return [
        (str(path.resolve()), _SOURCES[path])
        for path in dict.fromkeys(site.path for site in sites)
        if path in _SOURCES
    ]


def load_sources(
    sources: Mapping[str, bytes], names: Sequence[str], args: Mapping[str, str]
) -> list[LoadedSite]:
    """Loads the named sites, in the order of `names`, from the contents of their files. With this function, a
    process recreates sites that another process loaded."""
    found = {one.name: one for path, source in sources.items() for one in _file(Path(path), source)}
    sites = [found[name] for name in names]
    _arguments(
        sites,
        {name: value for name, value in args.items() if any(name in one.site.defaults for one in sites)},
    )
    return sites


def load(path: Path | str) -> list[LoadedSite]:
    """Loads the sites of one file, or of a folder: every `*.py` with a module-level Site, except `_*.py`.
    Raises ConfigError."""
    path = Path(path)
    if not path.is_dir():
        found = _file(path)
        if not found:
            raise ConfigError(
                f"{path}: it has no module-level Site: write `site = Site('name', hosts=[...], seeds=[...])`, "
                "or a table `selectors = {'shop.example': {'name': 'h1'}}`"
            )
        return found
    sites = [site for file in _files(path) for site in _file(file)]
    if not sites:
        raise ConfigError(f"{path}: no site file in it: a site file is a *.py with a module-level Site")
    return sites


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.py") if not file.name.startswith("_"))


def _loadable(path: Path, faults: list[str]) -> list[LoadedSite]:
    """Loads sites as `load` does, but skips files that cannot be loaded and appends their errors to
    `faults`."""
    sites: list[LoadedSite] = []
    for file in _files(path) if path.is_dir() else [path]:
        try:
            sites += _file(file)
        except ConfigError as error:
            faults.append(str(error))
    return sites


def version(path: Path) -> str:
    """Returns the version of a site file, a hash of 12 hex digits. Returns '' if the file cannot be read."""
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()
    except OSError:
        return ""


def of_script(site: Site) -> LoadedSite:
    """Prepares a site that a Python program made, for use in one crawl. The crawl gets its own copy, so that
    the program can still add page functions later. Raises ConfigError."""
    file = next(
        (one.call.__code__.co_filename for one in site.functions if hasattr(one.call, "__code__")), ""
    )
    path, own = Path(file or "script"), copy(site)
    _selectors(path, own)
    _sinks(path, own)
    _gates(path, own)
    mark = hashlib.blake2b(digest_size=6)
    for function in site.functions:
        _digest(getattr(function.call, "__code__", None), mark)
    items: dict[str, list[type]] = {}
    for function in site.functions:
        if function.item is not None:
            items.setdefault(function.item.__name__.lower(), []).append(function.item)
    return LoadedSite(own, path, mark.hexdigest(), items, site.name == "default", script_site=site)


def _digest(code: CodeType | None, into: Any) -> None:
    """Adds the bytecode of a function, and of the functions nested in it, to the hash `into`."""
    if code is None:
        return
    into.update(code.co_code + repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _digest(constant, into)
        elif isinstance(constant, str | bytes | int | float | tuple):
            into.update(repr(constant).encode() if not isinstance(constant, tuple) else b"")


def match(sites: Sequence[LoadedSite], url: str) -> LoadedSite | None:
    """Returns the site of a URL. If several sites accept the URL's host and path, the result is the site with
    the most specific host. If no site accepts the URL, returns the site called `default`, or None."""
    host = urls.host(url)
    best, closest = None, 0
    for site in sites:
        if site.default:
            best = best or site
        elif (close := site.site.claims(host)) > closest and site.site.takes_path(url):
            best, closest = site, close
    return best


def _file(path: Path, source: bytes | None = None) -> list[LoadedSite]:
    if path.suffix != ".py":
        raise ConfigError(f"{path} is not a Python file")
    try:
        source = path.read_bytes() if source is None else source
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    _SOURCES[path] = source
    version = hashlib.blake2b(source, digest_size=6).hexdigest()
    key = (path, path.resolve(), version)
    if (sites := _LOADED.get(key)) is None:
        sites = _LOADED[key] = _loaded(path, source, version)
    for one in sites:
        one.site.freeze({})
    return list(sites)


def _loaded(path: Path, source: bytes, version: str) -> list[LoadedSite]:
    module = _import(path, source, version)
    named = [(name, value) for name, value in vars(module).items() if isinstance(value, Site)]
    if not named and "selectors" in vars(module):
        from gossamer.sites.selector_tables import table_sites

        made = table_sites(path, module.selectors, vars(module).get("seeds"))
        named = [(site.name, site) for site in made]
    sites = {id(value): value for _, value in named}
    for site in sites.values():
        _selectors(path, site)
        _sinks(path, site)
        _gates(path, site)
    default = {id(value) for name, value in named if name == "default"}
    items: dict[str, list[type]] = {}
    own = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Item) and one is not Item
    ]
    parts = {part for one in own for part in _parts(one)}
    own = [one for one in own if one not in parts or getattr(one, "item_key", None)]
    named_by = [
        function.item for site in sites.values() for function in site.functions if function.item is not None
    ]
    for kind in dict.fromkeys([*own, *named_by]):
        items.setdefault(kind.__name__.lower(), []).append(kind)
    return [LoadedSite(site, path, version, items, key in default) for key, site in sites.items()]


def _parts(cls: type) -> set[type]:
    """Returns the item classes that occur in the fields of an item class. If a class in a field has no key,
    its items are stored inside the rows that contain them, and the class is not a separate kind of item."""
    try:
        waiting = list(typing.get_type_hints(cls).values())
    except Exception:  # noqa: BLE001 - annotations are a user's code: what cannot be read names nothing
        return set()
    found: set[type] = set()
    while waiting:
        hint = waiting.pop()
        if isinstance(hint, type) and issubclass(hint, Item) and hint is not cls:
            found.add(hint)
        waiting += typing.get_args(hint)
    return found


class _AsRead(SourceFileLoader):
    """An import loader that runs the given content of a file, and does not use Python's bytecode cache. The
    bytecode cache checks only the size of a file and its modification time in whole seconds. With the cache,
    Python could therefore run the old code after a change that keeps the size of the file."""

    def __init__(self, name: str, path: Path, source: bytes) -> None:
        super().__init__(name, str(path))
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._source, self.path)


def _import(path: Path, source: bytes, version: str) -> Any:
    """Imports a file by its path, under a unique module name. The file's folder is on sys.path while the file
    runs."""
    name = f"gossamer_site_{path.stem}_{hashlib.blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()}_{version}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _AsRead(name, path, source)
    spec = importlib.util.spec_from_loader(name, loader, origin=str(path))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.modules[name] = module
    sys.path.append(folder)  # at the end, so that a site file never shadows a package of the same name
    try:
        with stdout_to_stderr:  # stdout is reserved for data
            loader.exec_module(module)
    except GossamerError as error:
        del sys.modules[name]
        raise ConfigError(f"{path}:{_line(path, error)}: {error}") from error
    except BaseException as error:
        del sys.modules[name]
        if is_ctrl_c(error):
            raise
        own = (
            isinstance(error, SyntaxError)
            and error.filename
            and Path(error.filename).resolve() == path.resolve()
        )
        what = error.msg if isinstance(error, SyntaxError) and own else f"{type(error).__name__}: {error}"
        lacks = isinstance(error, ModuleNotFoundError)
        todo = f"install it for {sys.executable}, or mend the line," if lacks else "mend the line"
        raise ConfigError(
            f"{path}:{_line(path, error)}: {what}; {todo} and run the same command again"
        ) from error
    finally:
        sys.path.remove(folder)
    return module


def _line(path: Path, error: BaseException) -> int:
    """Returns the number of the line in the site's own file where an error occurred, or 1."""
    if (
        isinstance(error, SyntaxError)
        and error.lineno
        and Path(error.filename or "").resolve() == path.resolve()
    ):
        return error.lineno
    own = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == path.resolve()
    ]
    return (own[-1] if own else None) or 1


def _overlap(sites: Sequence[LoadedSite]) -> None:
    """Raises ConfigError if two sites accept the same pages, or if there are two default sites."""
    defaults = [site for site in sites if site.default]
    if len(defaults) > 1:
        one, other = defaults[:2]
        raise ConfigError(
            f"{other.path}: {one.path} has a site called default, too: one serves the hosts without a file"
        )
    rest = [site for site in sites if not site.default]
    for at, one in enumerate(rest):
        for other in rest[at + 1 :]:
            shared = [host for host in one.site.hosts if host in other.site.hosts]
            if shared and not (one.site.paths and other.site.paths):
                raise ConfigError(
                    f"{other.path}: the host {shared[0]} is {one.name}'s ({one.path}) already: "
                    "tell them apart with paths=[...]"
                )


def _selectors(path: Path, site: Site) -> None:
    """Raises ConfigError if a selector in the site's `must_have` is invalid."""
    if not site.must_have:
        return
    from gossamer.parsing import html
    from gossamer.parsing.selectors import Selector

    empty = html.parse(b"", None, "http://localhost/").tree
    for query in site.must_have:
        try:
            Selector(empty).css(query)
        except ValueError as error:
            raise ConfigError(f"{path}: site {site.name}: must_have: {error}") from None


def _sinks(path: Path, site: Site) -> None:
    """Raises ConfigError if one of the site's sinks is invalid."""
    if site.own_sinks:
        from gossamer.sinks import own_sink

        for spec, own in site.own_sinks.items():
            own_sink.register(spec, own)
    for spec in site.sinks:
        try:
            output_spec.parse(spec)
        except UsageError as error:
            raise ConfigError(f"{path}: site {site.name}: sinks: {error}") from None


def _gates(path: Path, site: Site) -> None:
    """Raises ConfigError if one of the site's gates is invalid."""
    for text in site.gates:
        from gossamer.items import quality_gates

        try:
            quality_gates.parse(text)
        except UsageError as error:
            raise ConfigError(f"{path}: site {site.name}: {error}") from None


def _arguments(sites: Sequence[LoadedSite], args: Mapping[str, str]) -> None:
    known = {name for site in sites for name in site.site.defaults}
    for name in args:
        if name not in known:
            hint = value_parsers.nearest(name, known) or f"; there are: {', '.join(sorted(known)) or 'none'}"
            raise UsageError(f"-a {name}: no site takes it{hint}")
    for (
        site
    ) in sites:  # a module is imported once per process, so it may still have an earlier run's arguments
        site.site.freeze(args)
        if (
            site.script_site is not None
        ):  # its page functions read the arguments from the program's own object
            site.script_site.args = site.site.args
