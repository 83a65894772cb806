"""`python -m dpjax`, the command line without the script."""

import sys

from dpjax.cli.main import main

sys.exit(main())
