"""Requests in their queued form."""

from __future__ import annotations

from gossamer.model.request import Request, pack, unpack


def test_half_a_surrogate_pair_does_not_keep_a_request_out_of_the_queue() -> None:
    given = Request(
        "http://e.com/a", carry={"k\ud800": ["\udfff", {"n": 1}]}, body="\ud800", id="\udc00", method="POST"
    )
    found = unpack(*pack(given))
    assert (found.carry, found.body, found.id) == ({"k\ufffd": ["\ufffd", {"n": 1}]}, "\ufffd", "\ufffd")
