"""The parts of the Python API: its options, the yielded records, tables, and crawls that run in their own
threads."""
