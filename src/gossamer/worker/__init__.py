"""Processes the URLs that a worker claims from the frontier. The visitor fetches and reads one page per
visit. The committer writes the results and settles the claims. The loop runs hundreds of visits concurrently.
`app.crawl_worker` passes in the collectors and sinks, so the modules of this package import no particular collector
or sink."""
