"""Counts keywords in the main text of many pages, and discovers the most important terms."""
