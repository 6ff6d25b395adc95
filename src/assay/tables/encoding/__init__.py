"""From the columns of a table to the numbers that a model needs: what it wants decides, what the rows show is remembered."""

from assay.tables.encoding.encode import Encoding, Wants
from assay.tables.encoding.portable import from_data, to_data

__all__ = ["Encoding", "Wants", "from_data", "to_data"]
