"""Settings, the values as people write them, references to secrets, redaction of secrets, optional
dependencies."""
