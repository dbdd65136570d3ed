// The planner reports backward roles that lack registers or shared memory.
// DEFINE: %{schedule} =
// DEFINE: %{plan} = not fovea-opt %s --attn-to-tile='target=sm_90a schedule=%{schedule}' 2>&1
// REDEFINE: %{schedule} = producer_registers=8
// RUN: %{plan} | FileCheck %s --check-prefix=FEW
// FEW: backward-schedule-budgets.mlir:[[#@LINE+14]]:{{[0-9]+}}: error: schedule's 'producer_registers' leaves role 'load' 8 registers per thread, which must be in [24, 256]
// REDEFINE: %{schedule} = producer_registers=32
// RUN: %{plan} | FileCheck %s --check-prefix=MORE
// MORE: error: schedule's 'producer_registers' leaves other roles too few: all need 66560 registers, but a CTA of 512 threads has 65536
// REDEFINE: %{schedule} = producer_registers=256
// RUN: %{plan} | FileCheck %s --check-prefix=MOST
// MOST: error: schedule's 'producer_registers' leaves other roles too few: all need 95232 registers, but a CTA of 512 threads has 65536
// REDEFINE: %{schedule} = stages=8
// RUN: %{plan} | FileCheck %s --check-prefix=STAGES
// STAGES: error: schedule's 'stages' is 8, which needs about {{[0-9]+}} bytes of shared memory, but 'sm_90a' has 232448

!t = tensor<1x2x?x64xbf16>
!rows = tensor<1x2x?xf32>
func.func @f(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
