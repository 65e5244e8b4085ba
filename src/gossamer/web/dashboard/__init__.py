"""The dashboard: pages for a browser, which show and run the operations."""
