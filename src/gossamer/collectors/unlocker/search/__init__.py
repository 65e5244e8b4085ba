"""Providers that return the results of a search as JSON: SerpApi, Serper, SearchApi and DataForSEO. They are
unlockers for result pages of Google and Bing: a request for `https://www.google.com/search?q=...` becomes a
call of their API, and the page is the JSON of the answer. `search_query` reads such a URL, and `search_answers` reads
what their answers have in common. Zyte's option
`serp=true` does the same (`zyte`). `gossamer.uses.ranks` reads the JSON.
"""
