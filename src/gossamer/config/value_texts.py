"""Formats durations, sizes, counts and times for people."""

from __future__ import annotations


def format_duration(seconds: float | None) -> str:
    """Formats seconds for people.

    >>> format_duration(3700), format_duration(0.25), format_duration(None)
    ('1h 1m', '0.25s', '-')
    """
    if seconds is None:
        return "-"
    if seconds < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + "s"
    whole = int(seconds)
    for unit, size, small, per in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size}{unit} {whole % size // per}{small}"
    return f"{whole}s"


def format_bytes(size: float) -> str:
    """Formats a number of bytes for people.

    >>> format_bytes(1536), format_bytes(10)
    ('1.5 KiB', '10 B')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{size:.0f} B"
        size /= 1024
    return f"{size:.1f} TiB"


def format_number(n: int, what: str) -> str:
    """Formats a count with its noun.

    >>> format_number(1, "host"), format_number(2, "host")
    ('1 host', '2 hosts')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def format_counts(counts: dict[str, int]) -> str:
    """Formats counts as `robots 3, depth 1`, largest first."""
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda pair: -pair[1])) or "-"


def format_time(at: float) -> str:
    """Formats a time (seconds since the epoch) in UTC, as in RFC 3339."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
