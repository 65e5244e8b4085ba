"""Fetches pages through the API of an unlocker. Each provider has one file with two pure functions. The
function `request` converts an `ApiCall` (the wanted page) to a `Call` of the API. The function `answer`
converts the response, an `ApiAnswer`, to a `FetchedPage` (the target's page) or a `Refusal`. `interface`
defines these types. `providers` contains the table of providers and parses the setting. `generic` is a
provider that the settings describe. `collector` makes the API calls for all providers, and limits the credits
that the calls cost.
"""
