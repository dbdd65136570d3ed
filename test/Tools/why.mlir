// What bounds a kernel, by the model of its plan.
// REQUIRES: fovea-compile
// DEFINE: %{target} =
// DEFINE: %{why} = fovea-compile %s --target=%{target} --why -o /dev/null 2>&1
// 16 of 128 exponentials of a row by polynomial, and one that rescales: 256 x 113 / 16.
// REDEFINE: %{target} = sm_100a
// RUN: %{why} | FileCheck %s --check-prefix=SM100
// SM100: kernel 'dense': bound by exponentials: 1808 cycles of an SM for 256 queries and 128 keys (dots 1024, shared memory 1024; computed, without latencies)
// Twice the rate, and no polynomial: 256 x 129 / 32. Of equal units the first is named.
// REDEFINE: %{target} = sm_103a
// RUN: %{why} | FileCheck %s --check-prefix=SM103
// SM103: kernel 'dense': bound by exponentials: 1032 cycles of an SM
// REDEFINE: %{target} = sm_80
// RUN: %{why} | FileCheck %s --check-prefix=OTHER
// OTHER: kernel 'dense': no bottleneck is computed; the model covers forward kernels with wgmma or tcgen05
// All queries that share keys fit a tile: 64 keys of K and V, 32 KiB, at 20 bytes per cycle.
// RUN: fovea-compile %examples/gqa_decode.mlir --target=sm_90a --why -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECODE
// DECODE: bound by device memory: 1638 cycles of an SM for 64 queries and 64 keys (dots 512, shared memory 640,
// RUN: not fovea-compile %s --why --emit=tile 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: --why requires --emit=ptx or --emit=cubin
func.func @dense(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attn.forward %q, %k, %v : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
