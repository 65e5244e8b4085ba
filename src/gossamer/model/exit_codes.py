"""The exit codes of the commands, each with a short meaning. docs/commands.md describes the codes at length."""

from __future__ import annotations

import signal

GATE_CODES = (30, 31)
"""The exit codes of a run whose work is done, but whose result is doubted."""
EXIT_CODES = {
    0: "done",
    1: "a bug",
    2: "wrong arguments",
    3: "the plan does not fit",
    4: "bad configuration",
    5: "nothing came of it",
    8: "the store cannot be reached",
    9: "failed, worth a retry",
    10: "the browser does not start",
    11: "stopped gracefully",
    13: "stopped at once",
    16: "the disk is full",
    20: "an output failed",
    21: "no proxy works",
    30: "a --fail-on gate is not met",
    31: "not like the last good runs",
}


def exit_meaning(code: int) -> str:
    """Returns the meaning of an exit code. A negative code is the number of the signal that ended the process.

    >>> exit_meaning(31), exit_meaning(-9), exit_meaning(77)
    ('not like the last good runs', 'killed by SIGKILL', 'unknown')
    """
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return EXIT_CODES.get(code, "unknown")
