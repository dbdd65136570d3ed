// Kernels count in 32 bits, by the module's data layout, unless a scalar of type
// index might need more.
// RUN: fovea-opt %s --attn-to-tile | FileCheck %s

!t = tensor<?x?x?x64xbf16>

// CHECK: gpu.module @narrow_module attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i32>}
func.func @narrow(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %next = arith.addi %h, %c1 : index
      %keep = arith.cmpi sge, %i, %next : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// What the caller gives may be anything, also where only tiles read it.
// CHECK: gpu.module @captured_module {
func.func @captured(%q: !t, %k: !t, %v: !t, %n: index) -> !t {
  %o = attn.forward %q, %k, %v captures(%n : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %most: index) {
      %keep = arith.cmpi slt, %j, %most : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A product of the head's number that 32 bits don't hold.
// CHECK: gpu.module @wide_module {
func.func @wide(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant 1000000 : index
      %far = arith.muli %h, %c : index
      %keep = arith.cmpi sge, %far, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
