"""The command line: one file a group of verbs, put together by `tree`; thin, for what a verb does lies below.

Data goes to stdout, everything else to stderr. A verb returns its exit code (docs/commands.md). Nothing heavy
is imported before a verb runs, so that `gossamer version` is quick.
"""

from __future__ import annotations


def main() -> None:
    """The command `gossamer`."""
    import contextlib
    import gc
    import sys

    gc.disable()  # what imports make is no garbage; a crawl enables it again (`process.settle_in`)

    from gossamer.cli.printing import steady

    steady()
    if sys.argv[1:] in (["version"], ["--version"]):  # asked by scripts: quick, without the tree
        from gossamer import __version__

        with contextlib.suppress(OSError):
            print(f"gossamer {__version__}", flush=True)
            return
        sys.argv[1:] = ["version"]  # where it fails, the tree knows what to say
    from gossamer.cli.commands import run

    try:
        code = run(sys.argv[1:])
    finally:
        gc.freeze()  # the interpreter would look through all that a crawl remembers once more before it ends
    sys.exit(code)
