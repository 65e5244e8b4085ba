"""The road of a URL behind the frontier: the visitor gets and reads a page, the committer writes and settles,
the worker keeps hundreds of visits going. Parts are handed in by `assemble`; nothing here names a concrete
one.
"""
