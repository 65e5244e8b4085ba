"""WARC: what several processes write to one output, and several outputs of one process."""

from __future__ import annotations

from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from sinks.test_warc import files, heads, raw, responses, sink


def test_a_body_that_was_cut_is_written_again_where_others_wrote_since(tmp_path: Path) -> None:
    """No claim of the batch was ours any more, so nothing follows; then comes another process, and only then we again."""
    path, rows = tmp_path / "o.warc.gz", [raw(n, b"same %d" % (n // 2) * 99) for n in range(1, 5)]
    one, other = sink(path), sink(path)
    length = one.append(one.prepare(), [])
    one.pack(rows[:1])
    one.append(length, rows[:1])
    one.append(length, [])
    length = other.append(length, [raw(8), raw(9)])
    one.pack(rows)
    one.close(one.append(length, rows))
    assert [kind for kind, _ in heads(path)][2:] == ["response", "response", "revisit", "response"]
    assert responses(path) == [row.key for row in (raw(8), raw(9), *rows)]


def test_two_outputs_name_their_own_records(tmp_path: Path) -> None:
    sinks, ids = [sink(tmp_path / f"{n}.warc.gz", most=1 << 30) for n in range(2)], []
    lengths, body = [one.prepare() for one in sinks], b"same" * 99
    lengths[0] = sinks[0].append(lengths[0], [raw(1, body)])
    for batch in ([raw(2, body), raw(3), raw(4, b"")], [raw(5, body), raw(6, b"x" * 40_000), raw(7)]):
        batch[-1].data.status = 304 if batch[-1].key == raw(7).key else 200
        for n, one in enumerate(sinks):
            one.pack(batch)
            lengths[n] = one.append(lengths[n], batch)
    for one, length in zip(sinks, lengths, strict=True):
        one.close(length)
    for path, known in zip(files(tmp_path), (["response"], []), strict=True):
        kinds = [kind for kind, _ in heads(path)]
        first = "revisit" if known else "response"
        assert kinds == [*known, first, "response", "response", "revisit", "response", "revisit"]
        with path.open("rb") as file:
            found = [row.rec_headers for row in ArchiveIterator(file)]
        ids += [row["WARC-Record-ID"] for row in found]
        answers = {row["WARC-Record-ID"] for row in found if row["WARC-Type"] in ("response", "revisit")}
        assert {row["WARC-Concurrent-To"] for row in found if row["WARC-Type"] == "request"} == answers
    assert len(set(ids)) == len(ids)
