"""How a page is got, one file a way: `http` (the plain rung), `archive` (files and WARC: also the tests' double), `cache`.

A collector has one method, `collect` (`parts.Collector`): a request in, a `Page` or a `Failure` out, no redirect followed,
size and time bounded. Content-codings are undone here, by `decoding`, under a limit.
"""
