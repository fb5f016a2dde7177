"""`python -m warpsmith` is the `warpsmith` command."""

import sys

from warpsmith.cli import main

if __name__ == "__main__":
    sys.exit(main())
