"""Processes the URLs that a worker claims from the frontier. The visitor fetches and reads a page, the
committer writes the results and settles the claims, and the loop runs hundreds of visits at once.
`app.wiring` passes in the parts: no module here imports a concrete collector or sink."""
