"""`python -m assay.cli` is `assay`."""

from assay.cli import main

if __name__ == "__main__":
    main()
