"""Tests, which run in as many processes as there are cores: NumPy uses one in each."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported
