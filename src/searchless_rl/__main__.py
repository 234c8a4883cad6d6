"""`python -m searchless_rl` is `searchless`."""

import sys

from searchless_rl.cli import main

sys.exit(main())
