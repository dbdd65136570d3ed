"""A kernel that does nothing, in so many roles of one warp: many_roles.py COUNT."""

import sys

roles = ", ".join(f'<"r{n}", warps = 1, registers = 24, owns = ["x{n}"]>' for n in range(int(sys.argv[1])))
print(f"""gpu.module @m {{
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, min_blocks = 2, roles = [{roles}]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {{
    gpu.return
  }}
}}""")
