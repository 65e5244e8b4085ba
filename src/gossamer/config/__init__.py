"""The settings and the parsers of their values, references to secrets, the redaction of secrets, optional
dependencies, and resource limits."""
