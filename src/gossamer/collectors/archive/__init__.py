"""Replays stored pages without a network: from folders, files, WARC files and object archives."""
