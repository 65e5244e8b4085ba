"""Site audit: crawls a site, and reports its problems (`gossamer audit`)."""
