"""Tests that all stores of rows share, and the servers of these stores."""
