"""The ready-made uses. Each is built on the public API alone."""
