"""`python -m fastmwem`, the same as the `fastmwem` script."""

from fastmwem.cli.main import main

main()
