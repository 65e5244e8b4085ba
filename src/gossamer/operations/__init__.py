"""The operations of gossamer: what programs can do with crawls, hosts and workers. `table.OPERATIONS` lists all of
them. The routes of `gossamer serve`, the OpenAPI document and the client are made from this table."""
