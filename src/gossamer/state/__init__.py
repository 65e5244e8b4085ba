"""The state that the whole fleet shares in the store, apart from the frontier. The shared state consists of
workers, slots, rate limits, schedules, credits, proxy statistics, log-ins and near-duplicates."""
