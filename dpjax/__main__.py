"""`python -m dpjax`, the command line without the script."""

import sys

from dpjax.cli import main

sys.exit(main())
