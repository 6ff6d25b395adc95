"""The service: models behind HTTP, by the Open Inference Protocol V2 and by plain rows. No numerics and no defaults of models here.

    uvicorn and protocol ─► app ─► request ─► admission ─► rows of the body ─► answers of the model ─► reply

uvicorn speaks HTTP/1.1 and TLS; `protocol.py` adds the limits of what may arrive. `app.py` is an ASGI application without a framework;
`admission.py` says who waits and who is turned away: small requests are answered in the event loop itself, large ones by threads.
`served.py` keeps the models and notices replaced files, `run.py` starts and ends it all.
"""
