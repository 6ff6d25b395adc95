"""Child processes: started, listened to, held to limits, and never left behind.

    child.py        the child's side: one piece of work after another, its events and its end sent home; what both sides say to each other
    supervisor.py   the parent's side: jobs in processes of their own, watched for time, memory and interrupts

Comparisons and reports give jobs to `run_jobs`. The studio keeps its workers for the next request: it has a pool of its own (studio/pool.py),
whose workers are started, speak and end by the same means.
"""
