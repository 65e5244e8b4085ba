"""The scheduler runs crawls on schedules. One scheduler leads, and any others stand by. The leader decides
due times, starts crawls and watches them until they end.

`jobs` turns a schedule into jobs. `runs` follows one run to its end. `loop` elects the leader and decides
which due times are run.
"""
