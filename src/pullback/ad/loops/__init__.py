"""Loops over elements of arrays: what can be proven of them, and passes that write them anew.

`line` and `nest` say which loops these are, `dependence` and `distinct` which elements may be the
same. Before differentiation loops are fused; after it the passes of ``docs/how-it-works.md`` put
the reverse half into the form in which hand-written adjoints are fast.
"""
