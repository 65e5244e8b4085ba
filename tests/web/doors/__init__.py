"""Tests of the doors, by the published clients of the other services."""
