"""``python -m votron`` is the command ``votron``."""

import sys

from votron.cli import main

if __name__ == "__main__":
    sys.exit(main())
