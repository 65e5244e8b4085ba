"""The path of a URL after the frontier: the visitor fetches and reads a page, the committer writes and
settles, and the loop runs hundreds of visits at once. `app.wiring` passes in the parts. No module here
names a concrete collector or sink."""
