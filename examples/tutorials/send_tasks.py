"""Sends tasks to the sorted set `scraping_tasks`, as a program that knows nothing about gossamer.

    python examples/tutorials/send_tasks.py [--redis redis://127.0.0.1:6379/0] URL...

The program needs the package redis. The first URL gets the highest priority. Each message has the fields id, url,
retries, proxy_type, timestamp and priority. The program prints the id and the URL of each message.
"""

import argparse
import json
import uuid
from datetime import UTC, datetime

import redis


def message(url: str, priority: int) -> dict[str, object]:
    """Returns a message for one URL."""
    return {
        "id": str(uuid.uuid4()),
        "url": url,
        "retries": 0,
        "proxy_type": "residential",
        "timestamp": datetime.now(UTC).isoformat(),
        "priority": priority,
    }


def main() -> None:
    """Sends one message per URL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("urls", nargs="+", metavar="URL")
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/0")
    given = parser.parse_args()
    with redis.Redis.from_url(given.redis) as client:
        for place, url in enumerate(given.urls):
            sent = message(url, len(given.urls) - place)
            client.zadd("scraping_tasks", {json.dumps(sent): sent["priority"]})
            print(sent["id"], url)


if __name__ == "__main__":
    main()
