"""The Scrapy spider of benchmarks/cost.py.

The spider follows all links of one host, and writes the URL, title, status and number of links of each page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

AT_ONCE = int(sys.argv[3]) if sys.argv[3:] else 64


class Pages(scrapy.Spider):
    """Does the work of a usual CrawlSpider in one callback."""

    name = "pages"

    def __init__(self, start: str) -> None:
        super().__init__()
        self.start_urls = [start]
        self.allowed_domains = [urlsplit(start).hostname or ""]
        self.links = LinkExtractor(allow_domains=[urlsplit(start).netloc])  # compares with the port

    def parse(self, response: Any) -> Iterator[Any]:
        found = self.links.extract_links(response) if hasattr(response, "css") else []
        title = response.css("title::text").get() if hasattr(response, "css") else None
        yield {"url": response.url, "title": title, "status": response.status, "links": len(found)}
        for link in found:
            yield response.follow(link, callback=self.parse)


process = CrawlerProcess(
    {
        "CONCURRENT_REQUESTS": AT_ONCE,
        "CONCURRENT_REQUESTS_PER_DOMAIN": AT_ONCE,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "AUTOTHROTTLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": True,
        "FEEDS": {sys.argv[2]: {"format": "jsonlines", "overwrite": True}},
        "RETRY_ENABLED": False,
    }
)
process.crawl(Pages, start=sys.argv[1])
process.start()
