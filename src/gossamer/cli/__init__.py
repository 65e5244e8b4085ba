"""The command line of gossamer. Each file holds one group of commands, and `commands` holds the command tree.
The commands are thin, because the layers below do the work.

Data goes to stdout and everything else to stderr. A command returns its exit code (docs/commands.md). Heavy
modules are imported only when a command runs, so that `gossamer version` is quick.
"""

from __future__ import annotations


def main() -> None:
    """Runs the `gossamer` command and exits with its exit code."""
    import contextlib
    import gc
    import sys

    gc.disable()  # imported objects are not garbage; a crawl enables it again (`process_tuning.settle_in`)

    from gossamer.cli.printing import prepare_streams

    prepare_streams()
    if sys.argv[1:] in (
        ["version"],
        ["--version"],
    ):  # scripts ask for the version, so print it without the command tree
        from gossamer import __version__

        with contextlib.suppress(OSError):
            print(f"gossamer {__version__}", flush=True)
            return
        sys.argv[1:] = ["version"]  # if printing fails, the command tree reports the error
    from gossamer.cli.commands import run

    try:
        code = run(sys.argv[1:])
    finally:
        gc.freeze()  # otherwise the interpreter would scan all objects of the crawl again at exit
    sys.exit(code)
