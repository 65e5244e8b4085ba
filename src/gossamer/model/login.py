"""Describes how to log in to a site: the form or the steps, the accounts, and the signs that show whether an
account is logged in. This module itself sends no requests.

Login("https://shop.example/login", {"user": "${env:SHOP_USER}", "password": "${env:SHOP_PASSWORD}"},
shows="a.logout")
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gossamer import url as urls
from gossamer.config import value_parsers
from gossamer.config.redaction import MASK, suggests_secret
from gossamer.config.secret_refs import has_reference, put_in
from gossamer.model.rendering import Step
from gossamer.model.request import Request, split
from gossamer.url.patterns import compile_

MAIN = "main"
"""The account name that is used if a site has only one account."""
LEAVING = re.compile(r"(?:^|[/_.?&=-])(?:log|sign)[-_]?(?:out|off)(?![A-Za-z])", re.IGNORECASE)
"""Matches the URLs that end a session on most sites."""
FORM = "form input[type=password i], input[type=password i][form]"
"""Matches the password field of a form. The field may be outside of the form, if its `form` attribute names the
form."""
MAX_ACCOUNTS = 1000
"""The maximum number of accounts of a site."""

Sign = int | str | re.Pattern[str]
"""A sign that an account is logged in or logged out. A sign is an HTTP status, a path such as `/login` to
which the site redirects, a CSS selector, or a pattern of page text."""
Steps = Callable[[Mapping[str, str]], Generator[Any, Any, Any]]
"""A generator function that logs in. The argument of the function contains the fields of an account. The
generator yields requests (or URLs) and receives the page of each request."""


class Account(NamedTuple):
    """An account: its name for logs, and its fields. Secrets are references until
    `Login.accounts_with_secrets` fills them in."""

    name: str
    fields: Mapping[str, str]


class Login:
    """How to log in to a site. Raises ValueError, TypeError.

    - `how`: the URL of the page with the form, or a function (`Steps`).
    - `fields`: the values to fill in. Secrets are references: `${env:NAME}` or `${file:PATH}`.
    - `accounts`: several accounts that are used in turn. Maps the name of each account to the fields that
      differ from `fields`.
    - `form`: a selector of the form, if it is not the first form on the page that asks for a password.
      `submit`: a selector of its button.
    - `shows`: selectors or patterns of page text. While the account is logged in, every page matches at least
      one of these selectors or patterns.
    - `lost`: signs that the account is logged out: a status, `/login` (a redirect to this path), a selector,
      a pattern. By default, the signs are the status 401, a redirect to the page with the form, and a log-in
      wall. If `shows` is given, the account also counts as logged out if a page matches none of the entries
      in `shows`.
    - `check`: the URL of a page that shows whether the account is logged in. Before an account logs in again,
      the page at `check` is requested. If `shows` is given, the page at `check` is also requested after each
      log-in.
    - `every`: seconds between the starts of two requests of an account.
    - `avoid`: a pattern of URLs that are not requested, because they would end the session.
    """

    def __init__(
        self,
        how: str | Steps,
        fields: Mapping[str, str] | None = None,
        *,
        accounts: Mapping[str, Mapping[str, str]] | None = None,
        form: str | None = None,
        submit: str | None = None,
        shows: Sign | Iterable[Sign] = (),
        lost: Sign | Iterable[Sign] = (),
        check: str | None = None,
        every: float | str | None = None,
        avoid: str | re.Pattern[str] = LEAVING,
    ) -> None:
        self.url: str | None = _url(how) if isinstance(how, str) else None
        self.steps: Steps | None = how if callable(how) else None
        if self.url is None and self.steps is None:
            raise TypeError("a log-in must be the URL of its form, or a function")
        if self.steps is not None and (form or submit):
            raise ValueError("form= and submit= apply only to the URL of a form, not to a function")
        self.form, self.submit = form, submit
        self.shows, self.lost = _signs("shows", shows, no=int), _signs("lost", lost)
        self.check = "" if check is None else _url(check)
        self.every = 0.0 if every is None else value_parsers.seconds(every)
        self.avoid = compile_(avoid)
        common = _fields(fields or {})
        given = accounts if accounts is not None else {MAIN: {}}
        if not 0 < len(given) <= MAX_ACCOUNTS:
            raise ValueError(f"accounts= must have 1 to {MAX_ACCOUNTS} names")
        self.accounts = tuple(
            Account(value_parsers.label(name), MappingProxyType(common | _fields(own)))
            for name, own in given.items()
        )
        if self.url and (bare := next((one.name for one in self.accounts if not one.fields), None)):
            raise ValueError(f"account {bare} has no fields to fill in")

    def __repr__(self) -> str:
        return f"Login({self.url or getattr(self.steps, '__name__', 'steps')!r})"

    def accounts_with_secrets(self, environ: Mapping[str, str] | None = None) -> tuple[Account, ...]:
        """Returns the accounts with their secrets filled in. Raises ValueError, which names the account and
        the missing secret."""
        out = []
        for name, fields in self.accounts:
            try:
                out.append(Account(name, {field: put_in(text, environ) for field, text in fields.items()}))
            except ValueError as error:
                raise ValueError(f"account {name}: {error}") from None
        return tuple(out)

    def secrets(self, account: Account) -> list[str]:
        """Returns the secret values of an account, that is, the values that replaced references."""
        said = next(one.fields for one in self.accounts if one.name == account.name)
        return [value for field, value in account.fields.items() if has_reference(said[field])]

    def typed(self, fields: Mapping[str, str], pause: float) -> tuple[Step, ...]:
        """Returns the steps of a log-in whose form is built by the page's scripts. A browser fills in the
        form's controls, which may be outside of the form (`collectors/browser/steps.js`), and submits
        the form at least `pause` seconds after the page was requested. The second to last step waits until the
        log-in has succeeded. If `shows` contains only CSS selectors, this step waits for an element that
        matches one of the selectors. Otherwise, the step waits until the form has disappeared."""
        form = self.form or FORM
        filled = [Step("fill", form, fields[field], control={"name": field}) for field in fields]
        shown = [
            one
            for one in self.shows
            if isinstance(one, str) and not one.startswith(("/", "http://", "https://"))
        ]
        sign = Step("wait", ", ".join(shown))
        if not shown or len(shown) < len(self.shows):
            sign = Step("until", f"!document.querySelector({json.dumps(form)})")
        return (
            *filled,
            Step("pause", f"{pause:g}"),
            Step("click", form, control={"submit": self.submit or ""}),
            sign,
            Step("wait", "idle"),
        )

    def by_form(self, fields: Mapping[str, str]) -> Generator[Any, Any, Any]:
        """Yields the requests of a form log-in. The first request is for the page with the form. The second
        request sends the filled-in form."""
        assert self.url is not None
        page = yield Request(self.url)
        yield page.form(self.form).fill(fields, submit=self.submit)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replaces each secret in a text by `***`, both in literal and in percent-encoded form. Values of one or
    two characters are not replaced.

    >>> redact("https://e.com/?pw=a%2Bb c a+b", ["a+b"])
    'https://e.com/?pw=*** c ***'
    """
    from urllib.parse import quote, quote_plus

    forms = {form for one in secrets if len(one) > 2 for form in (one, quote(one, safe=""), quote_plus(one))}
    for one in sorted(forms, key=len, reverse=True):
        text = text.replace(one, MASK)
    return text


def is_below(target: str, sign: str) -> bool:
    """Returns whether a URL is equal to or below `sign`, which is a path (`/login`) or a URL
    (`https://auth.example/`). The query of `target` is ignored.

    >>> is_below("https://e.com/login?next=/a", "/login"), is_below("https://e.com/logins", "/login")
    (True, False)
    """
    scheme, host, path = split(target)
    found = path.partition("?")[0] if sign.startswith("/") else f"{scheme}://{host}{path.partition('?')[0]}"
    return found == sign or found.startswith(sign.rstrip("/") + "/")


def _url(text: str) -> str:
    found = urls.parse(text)
    if found is None or not found.startswith(urls.WEB):
        raise ValueError(f"{text!r} is not an http(s) URL")
    if "@" in split(found)[1]:
        raise ValueError("the URL of a log-in must not contain a user or password")
    return found.partition("#")[0]


def _signs(word: str, given: Any, no: type | None = None) -> tuple[Sign, ...]:
    several = (given,) if isinstance(given, int | str | re.Pattern) else tuple(given or ())
    for one in several:
        if (
            not isinstance(one, int | str | re.Pattern)
            or isinstance(one, bool)
            or (no and isinstance(one, no))
        ):
            raise TypeError(
                f"{word}= accepts selectors, patterns (re.compile){'' if no else ', statuses'}, not {one!r}"
            )
    return several


def _fields(given: Any) -> dict[str, str]:
    out = dict(given)
    for name, value in out.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"the field {name!r} is a text")
        if suggests_secret(name) and value and not has_reference(value):
            raise ValueError(
                f"do not write a secret into the file: write ${{env:NAME}} or ${{file:PATH}} for {name!r}"
            )
    return out
