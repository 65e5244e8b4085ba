"""The scheduler: one loop that leads or stands by, decides due times, begins crawls and sees them to their
end.

`making` turns what a schedule holds into a job, `conducting` sees one run through, `loop` leads.
"""
