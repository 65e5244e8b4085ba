"""Tests of content decoding: the output is limited, and the time grows linearly with the size of the
input."""

from __future__ import annotations

import gzip
import random
import struct
import time
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.collectors.http.decoding import BadCoding, TooLarge, decode

TEXT = b"<p>Some text, and more of it. " * 3000
LIMIT = 1 << 20


def raw(data: bytes) -> bytes:
    made = zlib.compressobj(6, zlib.DEFLATED, -15)
    return made.compress(data) + made.flush()


CODED = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "br": brotli.compress(TEXT),
    "zstd": zstandard.compress(TEXT),
}
NOISE = random.Random(1).randbytes(5000)


@pytest.mark.parametrize("coding", CODED)
def test_each_coding_is_undone(coding: str) -> None:
    assert decode(CODED[coding], coding, LIMIT) == TEXT
    assert decode(CODED[coding], f" {coding.upper()} , identity", LIMIT) == TEXT
    assert decode(CODED[coding], coding, len(TEXT)) == TEXT
    with pytest.raises(TooLarge):
        decode(CODED[coding], coding, len(TEXT) - 1)
    assert decode(CODED[coding], coding, 1000, cut=True) == TEXT[:1000]


@pytest.mark.parametrize("coding", CODED)
def test_what_is_cut_off_is_kept_as_far_as_it_goes(coding: str) -> None:
    noisy = NOISE * 20
    packed = {
        "gzip": gzip.compress,
        "x-gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": brotli.compress,
        "zstd": zstandard.compress,
    }[coding](noisy + TEXT + bytes(random.Random(2).randbytes(300_000)))
    out = decode(packed[: len(packed) // 2], coding, LIMIT)
    assert len(out) > 50_000
    assert (noisy + TEXT).startswith(out[:50_000])


@pytest.mark.parametrize("coding", CODED)
def test_plain_bodies_that_claim_a_coding_stay(coding: str) -> None:
    for plain in (b"<!doctype html><p>plain", b"x", b"{}"):
        assert decode(plain, coding, LIMIT) == plain
    assert decode(b"", coding, LIMIT) == b""


def test_raw_deflate_several_members_and_noise_behind() -> None:
    assert decode(raw(TEXT), "deflate", LIMIT) == TEXT
    members = gzip.compress(b"one ") + gzip.compress(b"two ") + gzip.compress(b"three")
    assert decode(members, "gzip", LIMIT) == b"one two three"
    assert decode(members + b"\0\0 noise", "gzip", LIMIT) == b"one two three"
    large = gzip.compress(NOISE * 8, mtime=0)
    assert decode(large + large, "gzip", LIMIT) == NOISE * 16
    assert decode(zstandard.compress(b"a") + zstandard.compress(b"b"), "zstd", LIMIT) == b"ab"


def test_a_wrong_sum_or_a_bad_byte_ends_the_stream_there() -> None:
    packed = gzip.compress(TEXT)
    assert decode(packed[:-8] + struct.pack("<II", 1, 2), "gzip", LIMIT) == TEXT
    noisy = gzip.compress(NOISE * 40 + random.Random(3).randbytes(100_000))
    bent = bytearray(noisy)
    bent[60_000:60_100] = b"\xff" * 100
    out = decode(bytes(bent), "gzip", LIMIT)
    assert len(out) > 1000
    assert out[:1000] == NOISE[:1000]


def test_unknown_codings_leave_the_body_and_several_are_removed_in_turn() -> None:
    for word in ("utf-8", "none", "binary", "aws-chunked", ""):
        assert decode(b"x", word, LIMIT) == b"x"
    twice = gzip.compress(gzip.compress(b"x"))
    assert decode(twice, "gzip, gzip", LIMIT) == decode(gzip.compress(b"x"), "gzip, gzip", LIMIT) == b"x"
    assert decode(gzip.compress(brotli.compress(b"x")), "br,gzip", LIMIT) == b"x"
    assert decode(twice, "gzip, utf-8", LIMIT) == twice
    with pytest.raises(BadCoding):
        decode(twice, ",".join(["gzip"] * 5), LIMIT)
    with pytest.raises(TooLarge):
        decode(gzip.compress(gzip.compress(bytes(LIMIT + 1))), "gzip, gzip", LIMIT)


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    zeros = bytes(64 << 20)
    return {
        "gzip": zlib.compress(zeros, 9, 31),
        "deflate": raw(zeros),
        "br": brotli.compress(zeros, quality=9, lgwin=24),
        "zstd": zstandard.ZstdCompressor(19).compress(zeros),
    }


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bombs_end_at_the_limit(coding: str, bombs: dict[str, bytes]) -> None:
    assert len(bombs[coding]) < 70_000
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            decode(bombs[coding], coding, 4 << 20)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()
    assert decode(bombs[coding], coding, 1000, cut=True) == bytes(1000)


def test_many_tiny_members_and_late_breaks_cost_no_more_than_their_size() -> None:
    empty = gzip.compress(b"")
    began = time.process_time()
    decode(empty * 100_000, "gzip", LIMIT)  # quadratic time would take minutes
    body = gzip.compress(random.Random(4).randbytes(4 << 20), 1)
    broken = body[:-100] + b"\xff" * 100
    assert len(decode(broken, "gzip", 32 << 20)) > 4_100_000
    assert time.process_time() - began < 20


@given(st.binary(max_size=300), st.sampled_from([*CODED, "gzip, br", "?"]), st.integers(1, 500))
def test_no_bytes_raise_anything_else(body: bytes, coding: str, limit: int) -> None:
    try:
        assert len(decode(body, coding, limit, cut=True)) <= max(limit, len(body))
        decode(body, coding, limit)
    except (TooLarge, BadCoding):
        pass


@given(st.data(), st.sampled_from(list(CODED)))
def test_no_bent_stream_raises(data: st.DataObject, coding: str) -> None:
    packed = bytearray(CODED[coding])
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    assert len(decode(bytes(packed), coding, LIMIT, cut=True)) <= LIMIT
