"""Collectors, one file or folder per way to get a page: `http` (the plain rung), `impersonated`, `browser`,
`unlocker`, `archive` (folders, files, WARC; also used as the test double), `http_cache`.

A collector has one method, `collect` (`model.interfaces.Collector`), which takes a request and returns a
`Page` or a `Failure`. It does not follow redirects, and it limits size and time.
"""
