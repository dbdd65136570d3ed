"""A kernel that does nothing, in so many roles of one warp: many_roles.py COUNT."""

import sys

roles = ", ".join(f'#tile.role<"r{n}", warps = 1, registers = 24, owns = ["x{n}"]>' for n in range(int(sys.argv[1])))
print(f"""gpu.module @m {{
  tile.abi @f target("sm_90a") schedule(<tile_m = 64, tile_n = 64, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 2>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0) roles([{roles}])
  gpu.func @f() kernel {{
    gpu.return
  }}
}}""")
