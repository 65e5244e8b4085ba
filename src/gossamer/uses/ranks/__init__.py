"""Where a site stands in Google and Bing: result pages, positions, their history, alerts and reports."""
