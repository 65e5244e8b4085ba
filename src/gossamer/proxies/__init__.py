"""Proxy lists, the choice of a proxy for a request, rotation, and health."""
