"""The parts of the Python API: its options, the yielded records, tables, crawls in their own threads, and
tools for programs that build on it."""
