"""Encodes a submitted crawl as the message that workers read from the store. Also checks outputs that several
workers share, and determines the separate output files of each worker."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
from xxhash import xxh3_64_hexdigest

from gossamer.app.job import Job, JobOutput, Setup, register_secrets
from gossamer.app.targets import target_kind
from gossamer.config.redaction import mask
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, UsageError
from gossamer.frontier.crawls import Spec
from gossamer.identity.encryption import Encryption
from gossamer.sinks.output_spec import FORMATS, WHOLE, file_and_parameters, parse
from gossamer.sinks.sink_url import AWAY, bare_secret, kind_of, needs_journal, parse_sink_url
from gossamer.sites.loading import MODULE

VERSION = 1
SEALED = "sealed"
"""The entry in `Stored.uses` that shows that the headers and passwords of a crawl are encrypted. A version of
gossamer that cannot decrypt headers does not know this entry, and therefore refuses the crawl."""
SEGMENT = re.compile(r"part-([0-9a-f]{12})(?=[./]|\Z)")


class Stored(msgspec.Struct):
    """A crawl's job as it is stored."""

    version: int
    setup: Setup
    uses: list[str] = []
    """The names of all options that differ from their defaults, for example `settings.limit`. A version of
    gossamer that does not know an option in this list refuses the crawl."""
    sealed: bytes = b""
    """The encrypted headers and passwords of the crawl. `sealed` is empty if there is no key, or if there is
    nothing to encrypt."""


def pack_setup(setup: Setup, seal: Encryption | None = None) -> bytes:
    """Encodes a setup for the store. Headers and passwords are encrypted if there is a key. The address and
    passwords of the store, and the reference to the key, are left out."""
    lists = tuple(str(Path(path).expanduser().absolute()) for path in setup.job.settings.proxies)
    kept = msgspec.structs.replace(
        setup.job.settings,
        store=None,
        broker=(),
        unlocker_key=None,
        session_key=None,
        proxies=lists,
        alerts=(),
        alert_rules=None,
    )
    targets = [
        text if text.startswith(MODULE) else str(Path(text))
        for text in setup.job.targets
        if target_kind(text).kind == "site"
    ]
    job = msgspec.structs.replace(setup.job, settings=kept, targets=targets)
    made = msgspec.structs.replace(setup, job=job, store="", alone=True)
    uses, sealed = _uses(made), b""
    if seal is not None and seal.has_key and (job.headers or made.credentials):
        sealed = seal.close({"headers": job.headers, "credentials": made.credentials}, setup.crawl)
        made = msgspec.structs.replace(made, job=msgspec.structs.replace(job, headers={}), credentials={})
        uses.append(SEALED)
    return msgspec.json.encode(Stored(VERSION, made, uses, sealed))


def unpack_setup(
    raw: bytes, mine: Settings, store: str, segment: str, seal: Callable[[], Encryption]
) -> Setup:
    """Decodes a stored setup for one process of a worker. `mine`: the worker's own settings. Raises
    ConfigError if an incompatible version wrote the setup. Raises ConfigError if the setup was encrypted with
    another key."""
    from gossamer.collectors.unlocker.providers import worker_unlocker  # lazy: most crawls have no unlocker

    stored = _read(raw)
    setup = _opened(stored, seal)
    register_secrets(setup)
    given = setup.job.settings
    if "settings.concurrency" not in stored.uses:
        given = msgspec.structs.replace(given, concurrency=mine.concurrency)
    daily = [most for most in (mine.credits_daily, given.credits_daily) if most is not None]
    settings = msgspec.structs.replace(
        given,
        store=store,
        data=mine.data,
        ca_file=mine.ca_file or given.ca_file,
        processes=1,
        broker=(),
        unlocker=worker_unlocker(mine.unlocker, given.unlocker),
        unlocker_key=mine.unlocker_key,
        unlocker_shape=mine.unlocker_shape,
        session_key=mine.session_key,
        chromium=mine.chromium or given.chromium,
        credits_daily=min(daily, default=None),
        proxies=mine.proxies or given.proxies,
    )
    outputs = [
        JobOutput(part_of_output(one.spec, segment), one.overwrite, one.sites) for one in setup.job.outputs
    ]
    pages = part_of_output(setup.job.pages, segment) if setup.job.pages else None
    attempts = part_of_output(setup.job.attempts, segment) if setup.job.attempts else None
    graph = part_of_output(setup.job.graph, segment) if setup.job.graph else None
    targets = [
        str(found)
        for text in setup.job.targets
        if (found := text if text.startswith(MODULE) else local_path(text, mine.sites))
    ]
    job = msgspec.structs.replace(
        setup.job,
        settings=settings,
        outputs=outputs,
        pages=pages,
        attempts=attempts,
        graph=graph,
        targets=targets,
    )
    return msgspec.structs.replace(setup, job=job, store=store, segment=segment)


def read_outputs(raw: bytes) -> Job:
    """Returns the job of a stored setup as it was submitted, with the outputs that the user gave. Raises
    ConfigError."""
    return _read(raw).setup.job


def read_setup(raw: bytes) -> Setup:
    """Returns a stored setup without its encrypted parts. Raises ConfigError."""
    return _read(raw).setup


def _opened(stored: Stored, seal: Callable[[], Encryption]) -> Setup:
    """Returns the setup with its encrypted parts decrypted."""
    setup = stored.setup
    if stored.sealed:
        try:
            opened = seal().open(stored.sealed, setup.crawl)
        except ConfigError as error:
            raise ConfigError(
                "its headers and passwords are encrypted; give this worker the session_key of the "
                f"machine that submitted it ({error})"
            ) from None
        setup.job.headers = opened["headers"]
        setup.credentials = {origin: (user, word) for origin, (user, word) in opened["credentials"].items()}
    return setup


def _read(raw: bytes) -> Stored:
    """Decodes a stored job. Raises ConfigError if the job has another format or contains settings that this
    version does not know."""
    stored = json.loads(raw)
    if (version := stored.get("version")) != VERSION:
        raise ConfigError(
            f"it was submitted as format {version}, this worker knows {VERSION}: run the same "
            "gossamer everywhere"
        )
    known = {SEALED, *(f"{part}.{name}" for part, kind in _PARTS.items() for name in kind.__struct_fields__)}
    if strange := [name for name in stored.get("uses", ()) if name not in known]:
        raise ConfigError(
            f"it was submitted with {', '.join(strange)}, which this worker does not know: run "
            "the same gossamer everywhere"
        )
    try:
        return msgspec.json.decode(raw, type=Stored)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"its job cannot be read ({error}): run the same gossamer everywhere") from None


_PARTS: dict[str, type[msgspec.Struct]] = {"setup": Setup, "job": Job, "settings": Settings, "spec": Spec}


def _uses(setup: Setup) -> list[str]:
    parts = {"setup": setup, "job": setup.job, "settings": setup.job.settings, "spec": setup.spec}
    # `__struct_fields__` and `__struct_defaults__`: `msgspec.structs.fields` also resolves all annotations
    return [
        f"{part}.{name}"
        for part, value in parts.items()
        for name, default in zip(
            reversed(value.__struct_fields__), reversed(value.__struct_defaults__), strict=False
        )
        if default is not msgspec.NODEFAULT and getattr(value, name) != default
    ]


def local_path(target: str, folder: str) -> Path | None:
    """Finds a site file or folder by its name in the worker's folder of sites. Returns the path, or None if
    nothing is found."""
    path = Path(target)
    for found in (Path(folder) / path, Path(folder) / path.name):
        if found.exists():
            return found
    here = Path(folder)
    return here if not path.suffix and here.is_dir() and here.name == path.name else None


def check_shareable(specs: list[str]) -> None:
    """Raises UsageError if several workers of a fleet cannot share one of the outputs."""
    for spec in specs:
        if spec == "-" or spec.startswith("-:"):
            raise UsageError(
                f"-o {spec}: the workers of a fleet share no standard output: use a folder, for example -o out/"
            )
        if kind := kind_of(spec):
            if bare_secret(spec):
                raise UsageError(
                    f"-o {mask(spec)}: secrets are not sent to workers: write ${{env:NAME}} or ${{file:PATH}} instead"
                )
            if needs_journal(spec) and "journal" not in parse_sink_url(spec).given:
                raise UsageError(
                    f"-o {mask(spec)}: rows for {kind} go through a journal: name a folder that all "
                    "workers reach, for example ?journal=/shared/out"
                )
            continue
        path, form = folder_of(spec)
        if path is None:
            raise UsageError(
                f"-o {spec}: several machines cannot write one file: use a folder that "
                "all workers reach, "
                f"for example -o {_stem(spec)}/ or {_stem(spec)}/:csv; each worker then writes its own parts"
            )
        if form in ("sqlite", "xlsx"):
            raise UsageError(
                f"-o {spec}: {'SQLite' if form == 'sqlite' else 'Excel'} allows only one writer: "
                "use a folder of JSON lines, CSV or Parquet, for example -o out/"
            )


def folder_of(spec: str) -> tuple[str | None, str]:
    """Returns the folder that an output such as `out/`, `out/:csv` or `out.parquet` names, and the format of
    the output. The folder is None if the output is a single file.

    >>> folder_of("out/:csv"), folder_of("out.jsonl")
    (('out', 'csv'), (None, 'jsonl'))
    """
    if spec.startswith("objects:") or spec.partition("://")[0].lower() in AWAY:
        found = parse(spec)
        return found.path, found.format
    bare = file_and_parameters(spec)[0]
    path, colon, form = bare.rpartition(":")
    if colon and path.endswith("/") and form.lower() in FORMATS:
        return path.rstrip("/") or "/", form.lower()
    if bare.endswith("/") and not bare.endswith(".parquet/"):
        return bare.rstrip("/") or "/", "jsonl"
    found = parse(spec)
    return (found.path if found.format == "parquet" else None), found.format


def part_of_output(spec: str, segment: str) -> str:
    """Returns the separate output of one process, if several processes share the output `spec`. `spec` and
    the returned output are in the syntax of the option `-o`. `segment`: the result of `segment_name`."""
    if kind_of(spec):
        return re.sub(r"(?<=[?&])journal=([^&]*?)/?(?=&|$)", rf"journal=\1/part-{segment}", spec)
    folder, form = folder_of(spec)
    if form in WHOLE:
        where, mark, query = (folder or ".").partition("?")
        where = where.rstrip("/") if "://" in where else str(Path(where).absolute())
        plain, ending = ("objects:", "") if form == "objects" else ("", "" if "://" in where else ".warc.gz")
        return f"{plain}{where}/part-{segment}{ending}{mark}{query}"
    given = spec.removeprefix(file_and_parameters(spec)[0])
    return f"{Path(folder or '.').absolute()}/part-{segment}.{form}:{form}{given}"


def segment_name(process: str, crawl: str) -> str:
    """Returns the *segment* of a process: the name of the output parts that it writes for a crawl, as in
    `part-SEGMENT.jsonl`. The name also depends on the crawl, because several crawls may share a folder."""
    return xxh3_64_hexdigest(f"{process} {crawl}".encode())[:12]


def committed_segments(paths: list[str]) -> set[str]:
    """Returns the segments (see `segment_name`) that occur in the paths of committed outputs."""
    return {found[1] for path in paths if (found := SEGMENT.search(path))}


def make_output_folders(setup: Setup) -> None:
    """Creates the missing folders of a job's outputs. Raises ConfigError."""
    specs = [
        *(one.spec for one in setup.job.outputs),
        *filter(None, [setup.job.pages, setup.job.attempts, setup.job.graph]),
    ]
    found = {
        Path(path).parent for spec in specs if not kind_of(spec) and "://" not in (path := parse(spec).path)
    }
    for folder in sorted(found | ({setup.known_at} if setup.known_at is not None else set())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{folder} cannot be created on this machine for the crawl's output: {error.strerror}"
            ) from None


def _stem(spec: str) -> str:
    return parse(spec).path.rpartition(".")[0] or "out"
