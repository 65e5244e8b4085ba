"""`gossamer serve` offers the operations over HTTP, and `gossamer tokens` manages who may call them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from gossamer.cli.options import Argument, Data, Json, Option, Setting, StoreUrl, read_settings
from gossamer.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.web.tokens import TokenFile

PORT = 8321
TokenPath = Annotated[
    str, Option("--token-file", metavar="FILE", help="The file of tokens (default tokens.jsonl).")
]


def serve(
    port: Annotated[
        int, Option("--port", metavar="PORT", help="The port (default 8321; 0: any).", least=0)
    ] = PORT,
    host: Annotated[
        str, Option("--host", metavar="ADDRESS", help="The address (default 127.0.0.1). Others need tokens.")
    ] = "127.0.0.1",
    sites: Annotated[
        str | None, Option("--sites", metavar="DIR", help="The site files that callers may name.")
    ] = None,
    output: Annotated[
        list[str] | None,
        Option(
            "-o",
            "--output",
            metavar="OUTPUT",
            help="Where crawls also write their rows; {crawl} is the name of the crawl. A fleet needs it. Repeatable.",
        ),
    ] = None,
    token_file: Annotated[
        str | None,
        Option("--token-file", metavar="FILE", help="Who may call: see gossamer tokens add."),
    ] = None,
    prefix: Annotated[
        str, Option("--prefix", metavar="PATH", help="The path below which a proxy serves it: /crawler.")
    ] = "",
    crawls: Annotated[int, Option("--crawls", metavar="N", help="Crawls at once (default 8).", least=1)] = 8,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
) -> int:
    """Serve the API for programs and the dashboard at http://127.0.0.1:8321, until stopped. Crawls that it starts
    are processes of their own and continue when it ends. Several may serve one store."""
    from gossamer.cli.printing import remark

    settings = read_settings(data, store, setting)
    folder = None if sites is None else Path(sites).absolute()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--sites {sites}: there is no such folder")
    if port > 65_535:
        raise UsageError(f"--port {port}: a port is at most 65535")
    try:
        from gossamer.web import server
        from gossamer.web.path_prefix import parse_prefix
        from gossamer.web.tokens import TokenFile
    except ImportError as missing:
        from gossamer.config.optional_deps import install_command

        raise ConfigError(
            f"serve needs jinja2, starlette and uvicorn: {install_command('serve')}"
        ) from missing
    tokens = None if token_file is None else TokenFile(Path(token_file))
    if tokens is None and not server.is_loopback(host):
        raise ConfigError(
            f"--host {host}: other machines reach this address: make a token with gossamer tokens add, and give "
            "--token-file FILE"
        )
    if settings.allow_private:
        remark(f"private addresses may be visited: {', '.join(settings.allow_private)}")
    if settings.store is not None and not output:
        remark("crawls on the fleet store no rows: name a folder or a store that all workers reach with -o")
    words = [word for pair in setting or () for word in ("-s", pair)]
    words += [word for spec in output or () for word in ("-o", spec)]
    reached = ServeAddress(host, port, tokens, parse_prefix(prefix))
    return asyncio.run(_serve(settings, reached, folder, words, crawls))


class ServeAddress(NamedTuple):
    """Where the service is reached, and by whom. `prefix`: see `PathPrefix`."""

    host: str
    port: int
    tokens: TokenFile | None
    prefix: str


async def _serve(
    settings: Settings, reached: ServeAddress, sites: Path | None, words: list[str], crawls: int
) -> int:
    from gossamer.app.open_store import open_store
    from gossamer.cli.printing import remark
    from gossamer.operations.context import Caller, OperationContext
    from gossamer.operations.webhooks import follow_setting
    from gossamer.web.access import CallerCheck
    from gossamer.web.server import bind, run
    from gossamer.web.service import Service

    host, port, tokens, prefix = reached
    listening = bind(host, port)
    store, embedded = await open_store(settings)
    try:
        await follow_setting(OperationContext(store, settings, Caller()))
        access = CallerCheck(tokens, [host])
        service = Service(store, settings, access, sites=sites, words=words, crawls_at_once=crawls)
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        await run(service, listening, lambda: remark(_addresses(f"http://{shown}:{number}{prefix}")), prefix)
    finally:
        await store.close()
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)
    return 0


def _addresses(url: str) -> str:
    return f"the API is at {url}, the dashboard at {url}/"


def add(
    scope: Annotated[
        str, Option("--scope", metavar="SCOPE", help="What it permits: read (default), run or admin.")
    ] = "read",
    prefix: Annotated[
        str, Option("--prefix", metavar="TEXT", help="Only crawls whose names begin with this.")
    ] = "",
    expires: Annotated[
        str | None, Option("--expires", metavar="TIME", help="Valid for 12h, 30d (default: without end).")
    ] = None,
    name: Annotated[
        str, Option("--name", metavar="NAME", help="Whose it is, for gossamer actions (default: its id).")
    ] = "",
    token_file: TokenPath = "tokens.jsonl",  # noqa: S107 - a file name
    as_json: Json = False,
) -> int:
    """Make a token and print it. The file keeps only a hash of it, so it is never shown again."""
    from gossamer.cli.printing import put_json, remark
    from gossamer.config.value_parsers import span
    from gossamer.web.tokens import add_token

    try:
        seconds = None if expires is None else span(expires)
    except ValueError as error:
        raise UsageError(f"--expires {expires!r}: {error}") from None
    token = add_token(Path(token_file), scope, prefix, seconds, name)
    if as_json:
        put_json({"token": token, "scope": scope, "prefix": prefix, "name": name})
    else:
        sys.stdout.write(f"{token}\n")
    remark(
        f"{token_file} has the token {token.split('_')[1]} ({scope}); remove it with: gossamer tokens remove"
    )
    return 0


def listed(token_file: TokenPath = "tokens.jsonl", as_json: Json = False) -> int:  # noqa: S107 - a file name
    """List the tokens of a file: what they permit, and when they end."""
    from gossamer.cli.printing import put_json, put_table
    from gossamer.config.value_texts import format_time
    from gossamer.web.tokens import TokenFile

    found = TokenFile(Path(token_file)).load()
    rows = [
        {
            "id": one.id,
            "scope": one.scope,
            "prefix": one.prefix,
            "expires": None if one.expires is None else format_time(one.expires),
            "name": one.name or "",
        }
        for one in found
    ]
    if as_json:
        put_json(rows)
    else:
        put_table(("id", "scope", "prefix", "expires", "name"), [tuple(row.values()) for row in rows])
    return 0


def remove(
    number: Annotated[str, Argument(metavar="ID", help="As `gossamer tokens list` shows it.")],
    token_file: TokenPath = "tokens.jsonl",  # noqa: S107 - a file name
    as_json: Json = False,
) -> int:
    """Remove a token. A running `serve` refuses it from now on."""
    from gossamer.cli.printing import print_action
    from gossamer.web.tokens import remove_token

    remove_token(Path(token_file), number)
    print_action(f"token {number} is removed", as_json, id=number)
    return 0
