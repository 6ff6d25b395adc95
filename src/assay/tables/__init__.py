"""Tables that stay where they are: Parquet and CSV files as rows in blocks. Arrow is loaded when a file is opened."""

from assay.tables.file_rows import rows

__all__ = ["rows"]
