"""The service: models behind HTTP, by the Open Inference Protocol V2 and by plain rows. No numerics and no defaults of models here.

    connection ─► gate ─► routes ─► rows of the body ─► answers of the model ─► reply

`connection.py` speaks HTTP/1.1 and holds every limit of what may arrive; `gate.py` says who waits and who is turned away; small
requests are answered in the event loop itself, large ones by threads. `catalogue.py` keeps the models and notices replaced files.
"""
