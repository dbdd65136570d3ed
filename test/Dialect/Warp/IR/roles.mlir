// Round trip of roles, asynchronous dots, ping-pong sections and work items.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s

#reg = #warp.wgmma<groups = 2>

gpu.module @m {
  // CHECK-LABEL: gpu.func @roles
  gpu.func @roles(%K: memref<?x64xbf16, strided<[?, 1]>>, %n: index) kernel {
    %buffer = warp.alloc : memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
    %query = warp.alloc : memref<128x64xbf16, #warp.shared<row_bytes = 128>>
    // CHECK: %[[P:.*]] = warp.pipeline : !warp.pipeline<2>
    %p = warp.pipeline : !warp.pipeline<2>
    %m = warp.mailbox : !warp.mailbox<2>
    %t = warp.turns : !warp.turns<2>
    // CHECK: warp.specialize captures(%{{.*}}, %[[P]], {{.*}} : memref<?x64xbf16, strided<[?, 1]>>, !warp.pipeline<2>,
    // CHECK-NEXT: role @load warps(4) regs(24) {
    warp.specialize captures(%K, %p, %buffer, %query, %m, %t : memref<?x64xbf16, strided<[?, 1]>>, !warp.pipeline<2>, memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>, memref<128x64xbf16, #warp.shared<row_bytes = 128>>, !warp.mailbox<2>, !warp.turns<2>)
      role @load warps(4) regs(24) {
      ^bb0(%K0: memref<?x64xbf16, strided<[?, 1]>>, %p0: !warp.pipeline<2>, %b0: memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>, %q0: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %m0: !warp.mailbox<2>, %t0: !warp.turns<2>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        // CHECK: warp.producer_acquire
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<2>
        // CHECK: warp.fetch_work : index
        %w = warp.fetch_work : index
        // CHECK: warp.send %{{.*}} to %{{.*}}[%{{.*}}] : !warp.mailbox<2>
        warp.send %w to %m0[%z] : !warp.mailbox<2>
        %s = warp.stage %b0[%z] : memref<2x64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        warp.copy async %K0[%c0, %c0] dims [0, 1] to %s : memref<?x64xbf16, strided<[?, 1]>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<2>
        // CHECK: warp.finish_work
        warp.finish_work
        // CHECK: warp.return
        warp.return
      }
      // CHECK: role @compute warps(8) regs(240) {
      role @compute warps(8) regs(240) {
      ^bb0(%K1: memref<?x64xbf16, strided<[?, 1]>>, %p1: !warp.pipeline<2>, %b1: memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>, %q1: memref<128x64xbf16, #warp.shared<row_bytes = 128>>, %m1: !warp.mailbox<2>, %t1: !warp.turns<2>):
        %z = arith.constant 0 : i32
        %zero = arith.constant dense<0.0> : tensor<128x64xf32, #reg>
        warp.consumer_wait %p1[%z, %z] : !warp.pipeline<2>
        // CHECK: warp.receive %{{.*}}[%{{.*}}] : !warp.mailbox<2>
        %w = warp.receive %m1[%z] : !warp.mailbox<2>
        %s = warp.stage %b1[%z] : memref<2x64x64xbf16, #warp.shared<row_bytes = 128>> to memref<64x64xbf16, #warp.shared<row_bytes = 128>>
        // CHECK: warp.begin_turn %{{.*}} : !warp.turns<2>
        warp.begin_turn %t1 : !warp.turns<2>
        // CHECK: %[[D:.*]] = warp.dot async %{{.*}}, %{{.*}}, %{{.*}} transpose_b : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, tensor<128x64xf32, #warp.wgmma<groups = 2>>
        %d = warp.dot async %q1, %s, %zero transpose_b : memref<128x64xbf16, #warp.shared<row_bytes = 128>>, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, tensor<128x64xf32, #reg>
        // CHECK: warp.end_turn
        warp.end_turn %t1 : !warp.turns<2>
        // CHECK: warp.dot_wait %[[D]] above(%{{.*}} : tensor<128x64xf32, #warp.wgmma<groups = 2>>) held(%{{.*}} : tensor<128x64xf32, #warp.wgmma<groups = 2>>) : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
        %o, %h = warp.dot_wait %d above(%zero : tensor<128x64xf32, #reg>) held(%zero : tensor<128x64xf32, #reg>) : !warp.pending<tensor<128x64xf32, #reg>>
        warp.consumer_release %p1[%z, %z] : !warp.pipeline<2>
        // CHECK: warp.extract_columns %{{.*}} from 32
        %a = warp.extract_columns %o from 32 : tensor<128x64xf32, #reg> to tensor<128x32xf32, #reg>
        // CHECK: warp.concat_columns
        %b = warp.concat_columns %a, %a : tensor<128x32xf32, #reg>, tensor<128x32xf32, #reg> to tensor<128x64xf32, #reg>
        warp.return
      }
    gpu.return
  }
}
