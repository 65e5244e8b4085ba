"""The pages that a crawl on this machine knows from its visits."""

from __future__ import annotations

from pathlib import Path

from gossamer.errors import of_data
from gossamer.recrawl import known_pages


def good_urls(data: str, crawl: str) -> set[str]:
    """Returns the URLs of the pages whose last visit succeeded, after redirects. `data`: the data folder of the
    crawl, which must not be running. Raises a GossamerError if the records cannot be read."""
    folder = Path(data) / crawl
    try:
        if not known_pages.merge_logs(folder):
            return set()
        return {
            line.known.end or line.url
            for batch in known_pages.lines(folder)
            for line in batch
            if known_pages.is_good_since(line, 0.0)
        }
    except OSError as error:
        raise of_data(data, error) from error
