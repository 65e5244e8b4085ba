"""Site audit: crawls a site, and reports what is broken in it (`gossamer audit`)."""
