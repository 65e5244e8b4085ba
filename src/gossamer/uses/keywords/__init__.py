"""Counts keywords over the main text of many pages, and discovers the terms that matter."""
