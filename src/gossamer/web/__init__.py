"""`gossamer serve`: the operations over HTTP. The routes are made from the table of operations. Only this package
imports Starlette and uvicorn, which are in the extra `serve`."""
