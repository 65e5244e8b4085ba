"""Collectors, with one file or folder for each way to fetch a page: `http` (the plain rung), `impersonated`,
`browser`, `unlocker`, `archive` (folders, files and WARC; also used as the test double) and `http_cache`. A
collector has one method, `collect` (`model.interfaces.Collector`), which takes a request and returns a `Page`
or a `Failure`. A collector does not follow redirects, and it limits size and time.
"""
