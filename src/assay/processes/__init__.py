"""Child processes: started, listened to, held to limits, and never left behind.

    messages.py     what parent and child say to each other, over a connection
    child.py        the child's side: one piece of work after another, its events and its end sent home
    supervisor.py   the parent's side: jobs in processes of their own, watched for time, memory and interrupts

Comparisons and reports give jobs to `run_jobs`. The studio keeps its workers for the next request: it has a pool of its own (studio/pool.py),
whose workers are started, speak and end by the same means.
"""
