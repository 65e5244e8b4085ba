"""Pages through the API of an unlocker: one file a provider, two pure functions each, and one collector for
all of them.

`shape` has the values: `Needs` (what is wanted) -> `Call` (the call of the API), its `Answer` -> `Got` (the
target's page) or `Refusal`. `table` is the list of providers and reads the setting; `scraperapi`, `zenrows`,
`brightdata`, `zyte`, `scrapfly` are the known ones, `generic` is one that the settings describe. `collector`
makes the calls: within the credits, through the plain collector.
"""
