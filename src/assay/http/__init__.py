"""What the service and the studio share of HTTP: uvicorn started and stopped by its owner, replies, refusals, tokens."""
