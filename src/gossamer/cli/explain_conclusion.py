"""What `explain` concludes from gates, place and attempts: where a URL is, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gossamer.frontier.locate import UrlState


OPEN = ("pass", "wait", "unknown", "known", "duplicate")
"""Verdicts that keep no URL out."""

PARKED = {
    True: "over its host's page budget; taken back when more domains link to the host",
    False: "its host had its bytes or its time; taken back by a run with a larger --host-bytes or --host-time",
}
"""By whether it is over a budget of pages."""


class GateVerdict(NamedTuple):
    """What one gate says. `verdict`: pass, wait, a skip reason, or unknown; `rule`: what decided."""

    gate: str
    verdict: str
    rule: str


def conclusion(
    place: UrlState, gates: list[GateVerdict], attempts: list[dict[str, Any]], skipped: dict[str, int]
) -> tuple[str, str]:
    """Where it is in one word or two, and why."""
    from gossamer.cli.printing import duration

    barred = next((gate for gate in gates if gate.verdict not in OPEN), None)
    held = "; ".join(gate.rule for gate in gates if gate.verdict == "wait")
    told = {
        "pending": f"at priority {place.level}, {place.position} before it in its host's queue",
        "cold": "in the cold store"
        + (
            f" at priority {place.level}, about {place.position} before it"
            if place.position is not None
            else ""
        ),
        "leased": f"a worker has it, token {place.token}, its lease ends in {duration(max(place.due or 0, 0))}",
        "retrying": f"after {place.attempt} failures, due in {duration(max(place.due or 0, 0))}",
        "parked": PARKED[place.level is None],
        "dead": f"{place.reason}: {place.detail}; gossamer dead requeue --reason {place.reason}",
    }
    if place.state in told:
        if place.state == "pending" and barred is not None:
            return "pending", f"{told['pending']}; its turn will end it as {barred.verdict}: {barred.rule}"
        return place.state, told[place.state] + (f"; {held}" if held else "")
    if place.state == "done":
        last = attempts[-1] if attempts else {}
        if last and last.get("outcome") != "skipped":
            outcome = last.get("outcome")
            return "done" if outcome == "done" else f"done ({outcome})", _said(last)
        if barred is not None:
            return f"done (skipped: {barred.verdict})", barred.rule
        if last:
            return f"done (skipped: {last.get('error')})", f"its answer decided so: {_said(last)}"
        return "done", "it was settled; the attempts log has no line of it any more"
    if attempts:  # not met as a page, but asked for
        said = f"it was asked for as a file of an item, or before a --fresh: {_said(attempts[-1])}"
        return f"no page ({attempts[-1].get('outcome')})", said
    if barred is not None:
        return f"skipped ({barred.verdict})", f"{barred.gate}: {barred.rule}"
    maybe = ", ".join(f"{word} {skipped[word]}" for word in ("nofollow", "depth", "trap") if word in skipped)
    return "unknown", "no fetched page led to it" + (
        f"; links skipped so far that it may be among: {maybe}" if maybe else ""
    )


def _said(attempt: dict[str, Any]) -> str:
    """Status and error of a request."""
    said = f"status {attempt['status']}" if attempt.get("status") else ""
    error = f"error {attempt['error']}" if attempt.get("error") else ""
    return ", ".join(filter(None, (said, error))) or "see the attempts"
