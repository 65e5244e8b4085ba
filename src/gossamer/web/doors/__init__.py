"""Doors: the addresses of other services, answered by gossamer's operations. A door translates requests and answers."""
