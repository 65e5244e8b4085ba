"""A web crawler that is polite, fast and never loses a URL."""

__version__ = "0.1.0"
