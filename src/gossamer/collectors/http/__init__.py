"""The plain rung: HTTP/1.1 and HTTP/2 over libcurl."""
