"""Rank tracking: fetches result pages of Google and Bing, and records the positions of sites, with history,
alerts and reports."""
