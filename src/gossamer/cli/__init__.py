"""The command line of gossamer. Each file contains one group of commands, and `commands` contains the command
tree. A command contains little code, because the layers below do the work.

Data goes to stdout and everything else to stderr. A command returns its exit code (docs/commands.md). Heavy
modules are imported only when a command runs, so that `gossamer version` is quick.
"""

from __future__ import annotations


def main() -> None:
    """Runs the `gossamer` command and exits with its exit code."""
    import atexit
    import contextlib
    import gc
    import sys

    ended = list[int]()
    atexit.register(_leave, ended)  # registered first, so that it is called last
    gc.disable()  # imported objects are not garbage; `process_tuning.settle_in` enables collection again

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
        sys.argv[1:] = ["version"]  # printing failed, so the command tree tries again and reports the error
    from gossamer.cli.commands import run

    try:
        ended.append(run(sys.argv[1:]))
    finally:
        gc.freeze()  # keeps the collector from scanning all objects of the crawl again at exit
    sys.exit(ended[0])


def _leave(ended: list[int]) -> None:
    """Ends the process with the command's exit code, after all threads and other handlers. A normal exit
    would first destroy all modules, which takes longer than the import of many modules."""
    import contextlib
    import os
    import sys

    if ended:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(ended[0])
