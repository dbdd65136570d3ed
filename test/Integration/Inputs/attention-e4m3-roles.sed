# Streams P from the role that computes it to a role that owns the product with V.
s/<"vt", stages = 2>\]/<"vt", stages = 2>, <"p", stages = 1, staged>, <"factor", stages = 1, staged>, <"scale", stages = 1, staged>]/
s/<"compute", warps = 8, registers = 208, owns = \["\*"\]>\]/<"score", warps = 8, registers = 96, owns = ["s", "p", "factor", "scale", "lse"]>, <"values", warps = 8, registers = 96, owns = ["o", "out"]>]/
s/recurrence = deferred/recurrence = conditional/
s/order = .*\]>)/order = []>)/
