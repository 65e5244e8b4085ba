"""Proxy lists, the choice of a proxy for a request, its rotation, its health."""
