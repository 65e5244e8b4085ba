"""What a crawl tells about itself: the log of attempts, one line a request made."""
