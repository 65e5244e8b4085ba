"""The egress guard, through which all requests pass. Host names are resolved here, every address is checked,
and the collector connects to the checked address.

`addresses` decides which addresses are forbidden, and `resolver` turns host names into checked addresses.
"""
