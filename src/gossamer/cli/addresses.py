"""Whether a host's addresses may be visited, as the egress guard would decide."""
