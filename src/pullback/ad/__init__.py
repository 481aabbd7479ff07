"""Derivatives of flat typed IR: `build` puts them together, `compile` makes them run.

`activity` says what is differentiated, `adjoint` what each operation adds to which cotangent,
`reverse` and `forward` write the two modes. Rooms: `planning`, for what the reverse half needs, and
`loops`.
"""
