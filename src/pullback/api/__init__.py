"""The operators that users see, one file each, over the kernels of `ad.compile`.

All are imported together: each registers what it is inside compiled functions, and what was
compiled before a registration is stale.
"""

from . import gradient, hessian, jacobian, jvp, stop_gradient, vjp  # noqa: F401
