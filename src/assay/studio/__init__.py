"""The studio: a page on this machine where every model learns on points that are drawn, or on a table, and is watched doing so.

    assay studio

A thin face: it has no numerics and no defaults of its own. `serving.py` answers the page and does nothing that takes long;
what does runs in processes of its own (`pool.py`, `forkserver.py`, `worker.py`). docs/studio.md has the protocol.
"""
