"""The options `-o` and `--what` of `prices run`, `prices send`, `ranks run` and `ranks send`, which send records
to outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Option
from gossamer.errors import GossamerError, UsageError

if TYPE_CHECKING:
    from gossamer.uses.prices.history import History
    from gossamer.uses.ranks.history import RankHistory
    from gossamer.uses.record_stream import RecordKind, SentRecords

RecordOutputs = Annotated[
    list[str] | None,
    Option(
        "-o",
        "--output",
        metavar="OUTPUT",
        help="Send new records to it: postgresql://..., mongodb://..., valkey://...?list=NAME, kafka://..., "
        "https+webhook://..., FILE.jsonl, .csv, .parquet, .sqlite; repeatable.",
    ),
]
PriceKinds = Annotated[
    list[str] | None,
    Option("--what", metavar="KIND", help="The records for -o: prices (default), events; repeatable."),
]
RankKinds = Annotated[
    list[str] | None,
    Option(
        "--what",
        metavar="KIND",
        help="The records for -o: positions (default), results, checks, events; repeatable.",
    ),
]
Again = Annotated[
    bool, Option("--again", help="Send the whole history, for example to an output that lost its rows.")
]


class RecordsToSend:
    """The outputs of a command, and the kinds of records that the command sends to them.

    `folder`: the folder for rows that are not sent yet. Raises UsageError, ConfigError, SinkError or SinkAway
    for an output that cannot receive records.
    """

    def __init__(
        self,
        outputs: Sequence[str] | None,
        kinds: Mapping[str, RecordKind],
        what: Sequence[str] | None,
        folder: str,
        *,
        needed: bool = False,
    ) -> None:
        from gossamer.config.redaction import register_in
        from gossamer.uses.record_stream import check_outputs, chosen_kinds

        if what and not outputs:
            raise UsageError("--what chooses records for an output: give -o, too")
        if needed and not outputs:
            raise UsageError(
                "no output given: use -o with a store, a stream or a file, such as mongodb://HOST/DB"
            )
        self._outputs, self._folder = list(outputs or ()), folder
        self._kinds = chosen_kinds(kinds, what or ())
        for output in self._outputs:
            register_in(output)
        if self._outputs:
            check_outputs(self._outputs, self._kinds, folder)

    def send(self, opened: Callable[[], History | RankHistory], *, again: bool = False) -> list[SentRecords]:
        """Sends the records that the outputs do not have yet, and prints a line for each output. Raises
        GossamerError."""
        from gossamer.cli.printing import remark
        from gossamer.config.value_texts import format_number
        from gossamer.uses.record_stream import send_records

        if not self._outputs:
            return []
        with opened() as history:
            sent = send_records(history.database, self._outputs, self._folder, self._kinds, again=again)
        for one in sent:
            remark(f"{format_number(one.rows, 'record')} of the kind {one.kind} sent to {one.output}")
        return sent

    def send_after(
        self, opened: Callable[[], History | RankHistory], show: Callable[[list[SentRecords]], None]
    ) -> None:
        """Sends records after a run, and shows the result of the run with `show`, even if an output fails.
        Raises GossamerError for an output that failed."""
        sent: list[SentRecords] = []
        failed: GossamerError | None = None
        try:
            sent = self.send(opened)
        except GossamerError as error:
            failed = error
        show(sent)
        if failed is not None:
            raise failed


def sending_folder(history: str | None, default: str, use: str) -> str:
    """Returns the folder for rows that are not sent yet. `history`: the history, which is a file or a URL."""
    name = history or default
    return str(Path(default if "://" in name else name).parent / ".gossamer" / use)


def put_sent(sent: Sequence[SentRecords], as_json: bool) -> int:
    """Prints what was sent. Returns the exit code."""
    from gossamer.cli.printing import put_json, put_table

    if as_json:
        put_json(objects_of(sent))
    elif sent:
        rows = [(one.kind, f"{one.rows:,}", one.output) for one in sent]
        put_table(("kind", "records", "output"), rows, right=("records",), long=("output",))
    else:
        print("nothing new to send")
    return 0


def objects_of(sent: Sequence[SentRecords]) -> list[dict[str, object]]:
    """Returns what was sent as JSON objects."""
    return [{"output": one.output, "kind": one.kind, "records": one.rows} for one in sent]
