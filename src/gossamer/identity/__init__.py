"""Who we are to a host: headers, credentials, cookies; later header sets, proxies and sessions."""
