"""`python -m assay.cli` is `assay`."""

from assay.cli import main

main()
