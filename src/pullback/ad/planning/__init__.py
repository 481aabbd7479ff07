"""Where the reverse half gets what it needs: saved, stored, or computed again.

`plan` is what is decided, `planner` decides it: `sources` and `memory` say what may be computed
again, `cheapest` what should be, `records` how the rest lies on the tape.
"""
