"""What the whole fleet shares beside the frontier: workers, slots, rates, schedules, credits, proxy
statistics, log-ins, near-duplicates."""
