"""The kinds of problems that `gossamer serve` answers with, as problem details (RFC 9457). The client raises the
error class of the kind."""

from __future__ import annotations

from typing import NamedTuple

from gossamer import errors


class ProblemKind(NamedTuple):
    """A kind of problem. Its type is `/problems/SLUG`."""

    slug: str
    status: int
    title: str
    error: type[errors.GossamerError]


PROBLEMS = (
    ProblemKind("invalid-request", 400, "A field of the request is invalid", errors.InvalidField),
    ProblemKind("not-json", 400, "The body is not JSON", errors.UsageError),
    ProblemKind("wrong-cursor", 400, "The cursor belongs to another list", errors.UsageError),
    ProblemKind("wrong-host", 400, "The Host header names another server", errors.AccessRefused),
    ProblemKind("unauthorized", 401, "A valid token is needed", errors.AccessRefused),
    ProblemKind("forbidden", 403, "The token does not permit this operation", errors.AccessRefused),
    ProblemKind("private-address", 403, "The address is not public", errors.PrivateAddress),
    ProblemKind("unknown-crawl", 404, "No crawl has this name", errors.UnknownCrawl),
    ProblemKind("not-found", 404, "There is nothing of this name", errors.UnknownName),
    ProblemKind("method-not-allowed", 405, "The address has no such method", errors.UsageError),
    ProblemKind("slow-request", 408, "The request did not arrive in time", errors.ServiceAway),
    ProblemKind("in-use", 409, "Another process works on it", errors.InUse),
    ProblemKind("same-request-running", 409, "The same request is still running", errors.ServiceAway),
    ProblemKind("changed-meanwhile", 412, "Another request changed it meanwhile", errors.RequestConflict),
    ProblemKind(
        "wrong-confirmation", 412, "The confirmation is not valid for this request", errors.RequestConflict
    ),
    ProblemKind("too-large", 413, "The body is too large", errors.UsageError),
    ProblemKind("not-json-type", 415, "The body must be application/json", errors.UsageError),
    ProblemKind(
        "other-request", 422, "The idempotency key belongs to another request", errors.RequestConflict
    ),
    ProblemKind("configuration", 422, "The configuration does not permit this", errors.ConfigError),
    ProblemKind("no-entity-tag", 428, "If-Match is needed", errors.RequestConflict),
    ProblemKind("not-confirmed", 428, "A change of many entries must be confirmed", errors.RequestConflict),
    ProblemKind("too-many", 429, "Too many requests or crawls at once", errors.ServiceAway),
    ProblemKind("too-many-headers", 431, "The request has too many headers", errors.UsageError),
    ProblemKind("bug", 500, "An unexpected error: please report it", errors.GossamerError),
    ProblemKind("failed", 500, "The operation failed", errors.GossamerError),
    ProblemKind("store-away", 503, "The store does not answer", errors.StoreError),
)
BY_SLUG = {one.slug: one for one in PROBLEMS}


class RequestProblem(Exception):
    """A request that is answered with problem details. `fields`: pairs of a JSON pointer and a message."""

    def __init__(
        self,
        slug: str,
        detail: str,
        fields: tuple[tuple[str, str], ...] = (),
        headers: dict[str, str] | None = None,
        code: str = "",
    ) -> None:
        """`code`: the word of another service for the problem (`web.doors`)."""
        super().__init__(detail)
        self.kind, self.detail, self.fields, self.headers = BY_SLUG[slug], detail, fields, headers or {}
        self.code = code


def problem_of(error: errors.GossamerError) -> RequestProblem:
    """Returns the problem that reports an error of an operation."""
    line = str(error)
    if isinstance(error, errors.InvalidField):
        slug = "private-address" if isinstance(error, errors.PrivateAddress) else "invalid-request"
        return RequestProblem(slug, line, ((error.pointer, line),) if error.pointer else ())
    if isinstance(error, errors.UnknownCrawl):
        return RequestProblem("unknown-crawl", line)
    if isinstance(error, errors.UnknownName):
        return RequestProblem("not-found", line)
    if isinstance(error, errors.InUse):
        return RequestProblem("in-use", line)
    if isinstance(error, errors.AccessRefused):
        return RequestProblem("forbidden", line)
    if isinstance(error, errors.UsageError):
        return RequestProblem("invalid-request", line)
    if isinstance(error, errors.StoreError):
        return RequestProblem("store-away", line, headers={"Retry-After": "5"})
    if isinstance(error, errors.ConfigError):
        return RequestProblem("configuration", line)
    return RequestProblem("failed", line)
