"""From the columns of a table to the numbers that a model needs: its specification decides, and what the rows of the fit show."""

from assay.tables.encoding.encoding import Encoding, EncodingSpec
from assay.tables.encoding.stored import from_data, to_data

__all__ = ["Encoding", "EncodingSpec", "from_data", "to_data"]
