"""Politeness: what a host wants of us, decided from values.

robots    a robots.txt (RFC 9309): allowed or not, delay, sitemaps, the line that decided
rules     the rules of one agent in it, and how a path is held against them
pace      how soon a host may be asked again
blocks    whether an answer shuts us out: vendor, kind, signs
"""
