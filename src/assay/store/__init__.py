"""The model file: plain data in, plain data out; no pickle, no code. It knows records, not models."""

from assay.store.disk import write_atomically
from assay.store.file import decode, encode, read, write
from assay.store.record import Record

__all__ = ["Record", "decode", "encode", "read", "write", "write_atomically"]
