"""Collectors, one file or folder per way to get a page: `http` (the plain rung), `impersonated`, `browser`,
`unlocker`, `archive` (folders, files, WARC; also the test double), `http_cache`.

A collector has one method, `collect` (`model.interfaces.Collector`): a request in, a `Page` or a `Failure`
out. It follows no redirects, and limits size and time.
"""
