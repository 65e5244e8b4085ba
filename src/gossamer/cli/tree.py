"""The command tree, and what becomes of errors: one clear line on stderr and the right exit code."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import typer

from gossamer.cli import config, crawl, dead, doctor, explain, hosts, look, sites, status, steer
from gossamer.errors import GossamerError
from gossamer.units import nearest

app = typer.Typer(
    name="gossamer",
    help="A web crawler that is polite, fast and never loses a URL.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for room in (crawl, status, steer, dead, hosts, explain, look, sites, doctor, config):
    room.register(app)

STOPPED, FORCED = 11, 13


def run(words: list[str]) -> int:
    """Run one command; its exit code."""
    try:
        done = app(args=below_zero(words), prog_name="gossamer", standalone_mode=False)
        sys.stdout.flush()
        return done if isinstance(done, int) else 0
    except GossamerError as error:
        return say(str(error), error.exit_code)
    except BrokenPipeError:
        return unheard()
    except SystemExit as ended:  # typer's own way with a broken pipe
        return unheard() if isinstance(ended.__context__, BrokenPipeError) else int(ended.code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED
    except typer.Exit as ended:
        return ended.exit_code
    except Exception as error:  # noqa: BLE001 - the last door: nobody sees a traceback
        if hasattr(error, "format_message"):
            return say(usage(error), 2) if str(error) or error.args else 2
        return bug(error)


def unheard() -> int:
    """The reader of stdout has seen enough: end quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def below_zero(words: list[str]) -> list[str]:
    """`priority CRAWL -2`: a negative number is no option."""
    number = next((word for word in words[2:] if re.fullmatch(r"-\d+", word)), None)
    if words[:1] != ["priority"] or number is None:
        return words
    words = list(words)
    words.remove(number)
    return [*words, "--", number]


def say(line: str, code: int) -> int:
    """One line on stderr; returns the code."""
    from gossamer.masking import mask

    print(f"gossamer: {mask(' '.join(line.split()))}", file=sys.stderr)
    return code


def usage(error: Any) -> str:
    """What is wrong with the words, naming the nearest that are right."""
    message = str(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = getattr(context, "command", None)
    path = getattr(context, "command_path", "gossamer")
    name = re.search(r"'(.+?)'", message)
    word = getattr(error, "option_name", None) or (name[1] if name else "")
    if "No such option" in message:
        known = [name for option in getattr(command, "params", ()) for name in option.opts if name.startswith("--")]
        return f"{path} has no option {word}{nearest(word, known)}; see {path} --help"
    if "No such command" in message:
        return f"no command {word!r}{nearest(word, getattr(command, 'commands', {}))}; see {path} --help"
    if missing := re.match(r"Missing argument '?(\S+?)(?:\.\.\.)?'?$", message):
        return f"no {missing[1].strip('[]')} given; see {path} --help"
    return f"{message}; see {path} --help"


def bug(error: Exception) -> int:
    """A surprise: the traceback goes to a file, one line to the user."""
    import tempfile
    import traceback

    from gossamer.masking import mask

    text = mask("".join(traceback.format_exception(error)))
    for folder in (Path(".gossamer"), Path(tempfile.gettempdir())):
        path = folder / f"gossamer-error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        try:
            path.write_text(text)
        except OSError:
            continue
        break
    else:
        print(text, file=sys.stderr)
        return say(f"a bug: {type(error).__name__}: {error}; please report it with the lines above", 1)
    return say(f"a bug: {type(error).__name__}: {error}; please report it with {path}", 1)
