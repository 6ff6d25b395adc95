"""The model file: plain data in, plain data out; no pickle, no code. It knows records, not models."""

from assay.store.disk import write_atomically
from assay.store.file import Record, decode, encode, read, write

__all__ = ["Record", "decode", "encode", "read", "write", "write_atomically"]
