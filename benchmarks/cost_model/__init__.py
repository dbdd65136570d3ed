"""Cost model of Blackwell kernels: machine code, roles, traces, cycles. `blackwell.py` is its program."""
