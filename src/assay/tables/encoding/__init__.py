"""From the columns of a table to the numbers that a model needs: what it wants decides, what the rows show is remembered."""

from assay.tables.encoding.encoding import Encoding, EncodingSpec, from_data, to_data

__all__ = ["Encoding", "EncodingSpec", "from_data", "to_data"]
