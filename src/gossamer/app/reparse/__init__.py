"""Runs a site's functions over stored pages, without fetching. `runner` performs a run, which can be resumed.
`processes` starts processes that read the pages. `comparison` compares old and new items."""
