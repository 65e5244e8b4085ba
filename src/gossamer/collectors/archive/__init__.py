"""Pages replayed without a network: folders, files, WARC, object archives."""
