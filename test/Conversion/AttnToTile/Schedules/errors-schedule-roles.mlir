// Errors of schedules with roles: limits of instructions, registers and shared memory. The chosen
// schedule has 16 warps of 256 rows by 64 columns.
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=producer_registers=24,consumer_registers=240" 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: schedule has roles ('producer_registers'), which 'sm_80' does not support
// TARGET: note: roles need wgmma or tcgen05, which 'sm_80' does not have; targets with one of them: 'sm_90a', 'sm_100a', 'sm_103a'{{$}}
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=consumer_registers=0" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: schedule's 'producer_registers' and 'consumer_registers' must both be set or both be 0
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=6" 2>&1 | FileCheck %s --check-prefix=WARPS
// WARPS: error: schedule's 'warps' must be 4, 8, 12 or 16 in kernels with roles, found 6
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=20" 2>&1 | FileCheck %s --check-prefix=MANY_WARPS
// MANY_WARPS: error: schedule's 'warps' must be 4, 8, 12 or 16 in kernels with roles, found 20
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=8,tile_m=256" 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: schedule's 'tile_m' must be 64 rows for each of 2 warp groups, found 256; use warps=16
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_n=40" 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: schedule's 'tile_n' must be a multiple of 16 up to 256, found 40
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_n=272" 2>&1 | FileCheck %s --check-prefix=MANY_COLUMNS
// MANY_COLUMNS: error: schedule's 'tile_n' must be a multiple of 16 up to 256, found 272
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=query_in_registers=1" 2>&1 | FileCheck %s --check-prefix=QUERY
// QUERY: error: schedule's 'query_in_registers' must be 0 in kernels with roles
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=cluster=3" 2>&1 | FileCheck %s --check-prefix=CLUSTER
// CLUSTER: error: schedule's 'cluster' must be 1 or 2, found 3
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=score_stages=2" 2>&1 | FileCheck %s --check-prefix=SCORE_STAGES
// SCORE_STAGES: error: schedule's 'score_stages' needs roles: set 'producer_registers'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=overlap=1" 2>&1 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP: error: schedule's 'overlap' needs roles: set 'producer_registers'
// OVERLAP: note: roles need wgmma or tcgen05, which 'sm_80' does not have; targets with one of them: 'sm_90a', 'sm_100a', 'sm_103a'{{$}}
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=work=static" 2>&1 | FileCheck %s --check-prefix=WORK_ROLES
// WORK_ROLES: error: schedule's 'work' must be single or shares without roles ('producer_registers'), found static
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=softmax_part=50" 2>&1 | FileCheck %s --check-prefix=SOFTMAX_PART
// SOFTMAX_PART: error: schedule's 'softmax_part' needs roles: set 'producer_registers'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=producer_registers=0,consumer_registers=0,chain=1" 2>&1 | FileCheck %s --check-prefix=CHAIN_ROLES
// CHAIN_ROLES: error: schedule's 'chain' needs roles: set 'producer_registers'
// CHAIN_ROLES-NOT: note: roles need
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=output=tma" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: schedule's 'output' tma needs roles: set 'producer_registers'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=output=memory" 2>&1 | FileCheck %s --check-prefix=OUTPUT_NAME
// OUTPUT_NAME: error: schedule's 'output' must be direct or tma, found 'memory'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=output_stages=1" 2>&1 | FileCheck %s --check-prefix=OUTPUT_STAGES
// OUTPUT_STAGES: error: schedule's 'output_stages' needs 'output' tma
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=output=tma,output_stages=0,chain=2,query_stages=1" 2>&1 | FileCheck %s --check-prefix=OUTPUT_CHAIN
// OUTPUT_CHAIN: error: schedule's 'output' tma in the query's buffer ('output_stages' 0) and 'chain' need 'query_stages' 2, found 1
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=cluster=2,work=dynamic" 2>&1 | FileCheck %s --check-prefix=CLUSTER_WORK
// CLUSTER_WORK: error: schedule's 'cluster' 2 needs 'work' to be single or static
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=cluster=2" 2>&1 | FileCheck %s --check-prefix=NO_CLUSTER
// NO_CLUSTER: error: schedule's 'cluster' must be 1 without roles ('producer_registers'), found 2
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=producer_registers=20" 2>&1 | FileCheck %s --check-prefix=PRODUCER
// PRODUCER: error: schedule's 'producer_registers' must be a multiple of 8 from 24 on, found 20
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=consumer_registers=100" 2>&1 | FileCheck %s --check-prefix=CONSUMER
// CONSUMER: error: schedule's 'consumer_registers' must be a multiple of 8 from 24 on, found 100
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=query_stages=1" 2>&1 | FileCheck %s --check-prefix=CHAIN_QUERIES
// CHAIN_QUERIES: error: schedule's 'chain' 1 needs 'query_stages' 2, found 1
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=overlap=0" 2>&1 | FileCheck %s --check-prefix=CHAIN_OVERLAP
// CHAIN_OVERLAP: error: schedule's 'chain' needs 'overlap'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=work=single" 2>&1 | FileCheck %s --check-prefix=CHAIN_WORK
// CHAIN_WORK: error: schedule's 'chain' needs 'work' to be static or dynamic
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=tile_n=128" 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: error: schedule needs about 128 registers per compute thread, but 'consumer_registers' is 112: reduce 'tile_n', or use fewer 'warps'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=producer_registers=24,consumer_registers=128" 2>&1 | FileCheck %s --check-prefix=BUDGET
// BUDGET: error: schedule's register budgets need 68608 registers, but a CTA of 640 threads has 61440
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=warps=4,tile_m=64,tile_n=160,stages=32,key_stages=32,producer_registers=56,consumer_registers=248" 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: schedule needs 332800 bytes of shared memory, but 'sm_90a' has 232448: reduce 'tile_n' or the stages
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=work=often" 2>&1 | FileCheck %s --check-prefix=WORK
// WORK: error: schedule's 'work' must be single, static, dynamic or shares, found 'often'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=recurrence=eager" 2>&1 | FileCheck %s --check-prefix=RECURRENCE
// RECURRENCE: error: schedule's 'recurrence' must be three_pass, normalized, deferred, conditional or lazy, found 'eager'
// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=softmax_part=0" 2>&1 | FileCheck %s --check-prefix=PART
// PART: error: schedule's 'softmax_part' must be in [1, 100], found 0

func.func @f(%q: tensor<1x1x?x16xf16>) -> tensor<1x1x?x16xf16> {
  %o = attn.forward %q, %q, %q : tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16> -> tensor<1x1x?x16xf16>
  return %o : tensor<1x1x?x16xf16>
}
