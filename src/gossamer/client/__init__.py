"""The parts of the Python API: options, records, tables, crawls in background threads, and helper functions
for programs that build on gossamer."""
