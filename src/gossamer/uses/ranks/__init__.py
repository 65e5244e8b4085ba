"""Tracks the positions of websites in Google and Bing. Fetches result pages, stores a history of positions,
sends alerts, and creates reports."""
