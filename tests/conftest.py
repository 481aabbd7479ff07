"""Before anything imports NumPy: one BLAS thread, so that results and times do not vary."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("MPLBACKEND", "Agg")
