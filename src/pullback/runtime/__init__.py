"""What generated code calls: array primitives and the tape, the same on CPython and natively."""
