"""The command line: one file per group of commands, assembled by `commands`. It is thin, because the work is
done in the packages below. Data goes to stdout, everything else to stderr. A command returns its exit code
(docs/commands.md). Heavy modules are imported only when a command runs, so that `gossamer version` is
quick."""

from __future__ import annotations


def main() -> None:
    """Runs the command `gossamer`."""
    import contextlib
    import gc
    import sys

    gc.disable()  # objects made by imports are not garbage; a crawl enables the collector again (`interpreter.settle_in`)

    from gossamer.cli.printing import steady

    steady()
    if sys.argv[1:] in (["version"], ["--version"]):  # scripts ask for it: quick, without the command tree
        from gossamer import __version__

        with contextlib.suppress(OSError):
            print(f"gossamer {__version__}", flush=True)
            return
        sys.argv[1:] = ["version"]  # if it fails, the command tree reports why
    from gossamer.cli.commands import run

    try:
        code = run(sys.argv[1:])
    finally:
        gc.freeze()  # otherwise the interpreter would look through everything in memory once more before it ends
    sys.exit(code)
