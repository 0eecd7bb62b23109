"""The command ``votron`` as ``python -m votron``."""

import sys

from votron.cli import main

if __name__ == "__main__":
    sys.exit(main())
