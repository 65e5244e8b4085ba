"""How a page is got, one file a way: `http` (the plain rung), `impersonated` (the same as a browser),
`browser`, `archive` (folders, files, WARC: also the tests' double), `cache`.

A collector has one method, `collect` (`parts.Collector`): a request in, a `Page` or a `Failure` out, no
redirect followed, size and time bounded. Content-codings are undone here, by `decoding`, under a limit.

Map: `http` joins `multi` (curl on the event loop), `transfer` (one handle, its bounds, its pin), `heads`
(header lines), `outgoing` (what is sent with a request) and `failures` (curl's errors in our words);
`impersonated` has pools of it whose curl is another (`handles`); `browser` lends contexts of a `chromium`,
whose way out is a `tunnel`, to a `document` each, which is watched (`watching`) and read (`rendering`,
`rendered.js`, `frames`); `archive` joins `mirror` (files as pages) and `warc` (records by URL).
"""
