"""The parts of the Python API: options, yielded records, tables, and crawls in threads of their own."""
