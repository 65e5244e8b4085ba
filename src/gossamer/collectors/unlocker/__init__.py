"""Fetches pages through the API of an unlocker: one file per provider with two pure functions, and one
collector for all of them.

`interface` has the values: `ApiCall` (what is wanted) becomes a `Call` of the API, whose `ApiAnswer` becomes
`FetchedPage` (the target's page) or a `Refusal`. `providers` has the table of providers and reads the
setting. `generic` is a provider that the settings describe. `collector` makes the calls with the plain
collector, within the credits.
"""
