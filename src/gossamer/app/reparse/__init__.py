"""A site's functions over stored pages, without fetching: `running` (the run, which goes on where it ended),
`working` (the processes that read pages), `comparing` (items old and new)."""
