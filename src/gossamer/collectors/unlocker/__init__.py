"""Fetches pages through the API of an unlocker. Each provider has one file with two pure functions. One
collector serves all of them.

`interface` defines the values. An `ApiCall` (what is wanted) becomes a `Call` of the API. The response, an
`ApiAnswer`, becomes a `FetchedPage` (the target's page) or a `Refusal`. `providers` has the table of
providers and reads the setting. `generic` is a provider that the settings describe. `collector` makes the
calls with the plain collector, within the credits.
"""
