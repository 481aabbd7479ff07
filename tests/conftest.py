"""Before anything imports NumPy: one BLAS thread, so that results and times do not vary; and a
place for machine code."""

import os
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("MPLBACKEND", "Agg")
# Machine code is shared by the workers, and not with what the user runs.
_code = Path(__file__).parents[1] / ".pytest_cache" / "machine-code"
os.environ.setdefault("PULLBACK_CACHE_DIR", str(_code))
