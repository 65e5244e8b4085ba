"""The sources of result pages (`ResultPageSource`). A source is a search provider, an unlocker, direct requests to the
engines, or an archive. Providers and unlockers need a key of the user. The user must choose direct requests
explicitly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gossamer.client.unlocker_credits import UnlockerAccount, unlocker_account
from gossamer.errors import UsageError
from gossamer.uses.ranks.model import Search

OWN_DELAY = "5-10"
"""The range of seconds between two direct requests to an engine through the same exit. The exits are the IP
address of this machine, or the user's proxies."""
OWN_NOTICE = (
    "own fetching: Google's and Bing's terms and their robots.txt forbid automated searches, and since 2025 Google "
    "answers most of them with a challenge, which gossamer does not solve. You decide that you may do this. One "
    "search of an engine and exit every 5 to 10 s"
)
UNLOCKER_NOTICE = (
    "the unlocker {name} fetches result pages, which the robots.txt of the engines forbids: this is your choice and "
    "your contract with it"
)
NO_PROVIDER = (
    'result pages come from a search provider: name it with --provider serper, or unlocker = "serper" in gossamer.toml, '
    "and set its key in GOSSAMER_UNLOCKER_KEY (docs/ranks.md). --own searches from this machine"
)
MOBILE_AGENT = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36"


class ResultPageSource(NamedTuple):
    """A source of result pages, with its capabilities and limits.

    - `name`: the name of the provider or unlocker, `own` (direct requests), or `archive`.
    - `form`: `html`, or the name of the provider if the provider returns JSON.
    - `engines`: the engines that the source can search.
    - `mobile`: whether the source can return results for phones.
    - `cumulative`: whether a request returns all results up to the requested page.
    - `seconds`: the approximate duration of a request.
    - `account`: the account with the credit budget, or None if requests cost no credits.
    - `notice`: a message that the user must see before the run starts.
    """

    name: str
    form: str = "html"
    engines: tuple[str, ...] = ("google", "bing")
    mobile: bool = True
    cumulative: bool = False
    seconds: float = 5.0
    account: UnlockerAccount | None = None
    notice: str = ""

    def refuses(self, search: Search) -> str:
        """Returns the reason why this source cannot fetch a search, or '' if the source can fetch the
        search."""
        if search.engine not in self.engines:
            return f"{self.name} does not search {search.engine}"
        if search.device == "mobile" and not self.mobile:
            return f"{self.name} has no mobile results"
        if search.location and self.form == "zyte":
            return f"{self.name} has no location"
        return ""

    def cost(self, first: int, page: int) -> int:
        """Returns the number of credits that a request costs. `first` and `page`: the numbers of the first
        and the last result page in the answer."""
        one = int((self.account.options if self.account else {}).get("cost", "1") or 1)
        return one * (page - first + 1 if self.cumulative else 1)


_PROVIDERS = {
    "serpapi": ResultPageSource("serpapi", "serpapi", seconds=3.0),
    "searchapi": ResultPageSource("searchapi", "searchapi", seconds=3.0),
    "serper": ResultPageSource("serper", "serper", ("google",), mobile=False, seconds=2.0),
    "dataforseo": ResultPageSource("dataforseo", "dataforseo", cumulative=True, seconds=6.0),
    "zyte": ResultPageSource("zyte", "zyte", ("google",), mobile=False, seconds=4.0),
}
"""The search providers, keyed by name. Zyte returns search results only with the option `serp=true`, which
`provider_setting` adds."""


def provider_setting(given: str) -> str:
    """Returns the value of the setting `unlocker` for a provider that the user chose.

    >>> provider_setting("zyte"), provider_setting("serper?at_once=10")
    ('zyte?serp=true', 'serper?at_once=10')
    """
    name, _, query = given.partition("?")
    if name == "zyte" and "serp=" not in query and "render=" not in query:
        return f"zyte?{query + '&' if query else ''}serp=true"
    return given


def choose_source(
    options: Mapping[str, Any], *, own: bool = False, archive: str | None = None, with_key: bool = True
) -> ResultPageSource:
    """Returns the source of result pages for a run. `options`: the options of `gossamer.run`. The option
    `unlocker` contains the name of the provider. `with_key`: whether the provider's key must be set. Raises
    UsageError and ConfigError."""
    if archive is not None:
        return ResultPageSource("archive", seconds=0.01)
    if own:
        return ResultPageSource("own", seconds=7.5, notice=OWN_NOTICE)
    account = unlocker_account(options, with_key=with_key, none_named=NO_PROVIDER)
    known = _PROVIDERS.get(account.name)
    if known is not None and (known.form != "zyte" or account.options.get("serp") == "true"):
        return known._replace(account=account)
    notice = UNLOCKER_NOTICE.format(name=account.name)
    return ResultPageSource(account.name, seconds=8.0, account=account, notice=notice)


def crawl_options(
    source: ResultPageSource, given: Mapping[str, Any], left: int | None, archive: str | None
) -> dict[str, Any]:
    """Returns the options of a crawl that fetches result pages. `left`: the number of credits that the crawl
    may spend."""
    options: dict[str, Any] = {"keep": "off", "files": "off", "ignore_robots": True, "retries": "10s,60s"}
    if source.account is not None:
        options |= {"ladder": "unlocker", "delay": 0, "per_host": source.account.with_late}
        options["concurrency"] = 20
        if left is not None:
            options["credits"] = left
    elif source.name == "archive":
        options |= {"archive": archive, "delay": 0, "retries": "none"}
    else:
        options |= {"delay": OWN_DELAY, "per_host": 1, "retries": "none"}
    if any(text.startswith("retries=") for text in given.get("setting") or ()):
        del options["retries"]
    return options | dict(given)


def headers_of(source: ResultPageSource, search: Search, referer: str) -> dict[str, str]:
    """Returns the HTTP headers of a request for a result page. The header `Sec-CH-UA-Mobile` selects the
    device in a provider's API."""
    mobile = {"Sec-CH-UA-Mobile": "?1"} if search.device == "mobile" else {}
    if source.form != "html" or source.name == "archive":
        return mobile
    if mobile:
        mobile["User-Agent"] = MOBILE_AGENT
    return mobile | ({"Referer": referer} if source.name == "own" else {})


def check_source(source: ResultPageSource, searches: Mapping[str, Search]) -> dict[str, str]:
    """Returns the reasons why the source cannot fetch searches, keyed by search id. Raises UsageError if the
    source cannot fetch any of the searches."""
    refused = {name: why for name, search in searches.items() if (why := source.refuses(search))}
    if searches and len(refused) == len(searches):
        raise UsageError(f"{next(iter(refused.values()))}: choose another provider")
    return refused
