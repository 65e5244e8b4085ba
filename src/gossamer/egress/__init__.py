"""The one door to the network: names are resolved here, every answer is checked, and the collector dials the
checked address.

`addresses` says which addresses are forbidden (a pure table), `resolver` turns hosts into checked addresses.
"""
