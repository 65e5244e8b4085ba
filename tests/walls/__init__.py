"""A made web of walls: hosts that let in whom they like, by what arrives on the wire. It shares no code with
gossamer, and runs apart."""
