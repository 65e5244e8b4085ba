"""WARC output of several processes to one file, and of one process to several outputs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from sinks.test_warc import files, heads, raw, responses, sink
from support.repetitions import repetitions


def test_a_body_that_was_cut_is_written_again_where_others_wrote_since(tmp_path: Path) -> None:
    """The process has lost all claims of its batch, so the batch is cut. Another process writes, and then the
    first process writes again."""
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


def test_a_body_is_written_again_where_the_store_forgot_its_commit(tmp_path: Path) -> None:
    """The store loses the commit of row 2, and another process writes a longer batch at that place."""
    path, one, other = (where := tmp_path / "o.warc.gz"), sink(where, most=1 << 30), sink(where, most=1 << 30)
    length = one.append(one.prepare(), [raw(1, b"kept")])
    one.append(length, [raw(2, b"lost")])
    length = other.append(length, [raw(n) for n in range(5, 8)])
    one.close(one.append(length, [raw(3, b"kept"), raw(4, b"lost")]))
    assert [kind for kind, _ in heads(path)] == ["response"] * 4 + ["revisit", "response"]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(0, 3)),
        max_size=30,
    ),
    st.sampled_from([900, 1 << 30]),
)
@settings(max_examples=repetitions(60), deadline=None)
def test_a_revisit_names_a_record_that_is_there(turns: list[tuple[int, list[int], int]], most: int) -> None:
    """Three processes take turns. After each turn the store loses its last commits, of any process."""
    with TemporaryDirectory() as folder:
        sinks, count = [sink(Path(folder, "o.warc.gz"), most=most) for _ in range(3)], 0
        lengths = [sinks[0].prepare()]
        for who, bodies, lost in turns:
            rows = [raw(count + n, b"%d" % body * (200 + body)) for n, body in enumerate(bodies)]
            count += len(bodies)
            sinks[who].pack(rows)
            lengths.append(sinks[who].append(lengths[-1], rows))
            del lengths[len(lengths) - min(lost, len(lengths) - 1) :]
        sinks[0].close(sinks[0].append(lengths[-1], []))
        named, there = set(), set()
        for path in files(Path(folder)):
            with path.open("rb") as file:
                for row in ArchiveIterator(file):
                    head = row.rec_headers
                    there.add((head["WARC-Target-URI"], head["WARC-Date"], row.rec_type == "response"))
                    if row.rec_type == "revisit":
                        named.add((head["WARC-Refers-To-Target-URI"], head["WARC-Refers-To-Date"], True))
        assert named <= there
