"""Providers that return the results of a search as JSON: SerpApi, Serper, SearchApi and DataForSEO. These
providers are unlockers for result pages of Google and Bing. A request for
`https://www.google.com/search?q=...` becomes a call of the provider's API. The resulting page contains the
provider's answer as JSON. `search_query` reads the URL of a result page, and `search_answers` reads the parts
that the answers of all providers share. The provider Zyte can do the same with its option `serp=true`
(`zyte`). `gossamer.uses.ranks` reads the JSON.
"""
