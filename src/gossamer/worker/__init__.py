"""Processes the URLs that a worker claims from the frontier. The visitor fetches and reads a page. The
committer writes the results and settles the claims. The loop runs hundreds of visits at once. `app.wiring`
passes in the collectors and sinks, so no module here imports a concrete one."""
