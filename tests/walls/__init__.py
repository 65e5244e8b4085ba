"""A simulated web of walls: hosts that decide by the bytes on the wire which clients they serve. The web
shares no code with gossamer and runs in its own process."""
