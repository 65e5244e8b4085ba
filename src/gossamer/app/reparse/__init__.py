"""Runs a site's functions over stored pages, without fetching: `runner` (a run, which can be resumed),
`processes` (which read the pages), `comparison` (old and new items)."""
