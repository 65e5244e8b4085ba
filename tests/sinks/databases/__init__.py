"""Stores of rows: their servers, and what is asked of all of them."""
