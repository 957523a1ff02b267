"""`python -m racktwin.cli`."""

import sys

from racktwin.cli import main

sys.exit(main())
