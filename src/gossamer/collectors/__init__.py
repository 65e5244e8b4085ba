"""How a page is got, one file a way: `http` (the plain rung), `archive` (folders, files, WARC: also the tests' double), `cache`.

A collector has one method, `collect` (`parts.Collector`): a request in, a `Page` or a `Failure` out, no redirect followed,
size and time bounded. Content-codings are undone here, by `decoding`, under a limit.

Map: `http` joins `multi` (curl on the event loop), `transfer` (one handle, its bounds, its pin), `heads` (header lines) and
`failures` (curl's errors in our words); `archive` joins `mirror` (files as pages) and `warc` (records by URL).
"""
