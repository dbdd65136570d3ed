// RUN: fovea-run %s --entry=right --random=1 --dims Sq=70,Skv=50 --check-kv-classify=16x8,exact | FileCheck %s --check-prefix=RIGHT
// RUN: fovea-run %s --entry=right --random=1 --dims Sq=70,Skv=50 --check-kv-classify=1x1,exact
// RUN: fovea-run %s --entry=right --random=1 --dims Sq=70,Skv=50 --check-kv-classify=9000000000000000000x9000000000000000000
// RUN: not fovea-run %s --entry=skips --random=1 --check-kv-classify=16x16 2>&1 | FileCheck %s --check-prefix=SKIPS
// RUN: not fovea-run %s --entry=shows --random=1 --check-kv-classify=16x16 2>&1 | FileCheck %s --check-prefix=SHOWS
// RUN: fovea-run %s --entry=shows --random=1
// RUN: fovea-run %s --entry=vague --random=1 --check-kv-classify=16x16
// RUN: not fovea-run %s --entry=vague --random=1 --check-kv-classify=16x16,exact 2>&1 | FileCheck %s --check-prefix=VAGUE
// RUN: fovea-run %s --entry=documents --random=1 --integers=0:5 --check-kv-classify=8x4
// RUN: not fovea-run %s --entry=wrong_extreme --random=1 --integers=0:2 --check-kv-classify=8x4 2>&1 | FileCheck %s --check-prefix=EXTREME
// RUN: not fovea-run %s --entry=far_index --random=1 --integers=0:2 --check-kv-classify=8x4 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not fovea-run %s --entry=right --random=1 --dims Sq=70,Skv=50 --check-kv-classify=16 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not fovea-run %s --entry=right --random=1 --dims Sq=70,Skv=50 --check-kv-classify=0x4 2>&1 | FileCheck %s --check-prefix=OPTION

!t = tensor<1x1x40x8xf32>

// RIGHT: o 1x1x70x8
func.func @right(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %any = arith.cmpi sge, %i1, %j0 : index
      %all = arith.cmpi sge, %i0, %j1 : index
      attn.yield %any, %all : i1, i1
    } : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

func.func @skips(%q: !t, %k: !t) -> !t {
  // SKIPS: [[@LINE+1]]:{{.*}}error: kv_classify of queries 16 to 31, keys 16 to 31 of batch entry 0, head 0 claims that no key is visible, but query 16 sees key 16
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %false = arith.constant false
      %c0 = arith.constant 0 : index
      %any = arith.cmpi eq, %j0, %c0 : index
      attn.yield %any, %false : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @shows(%q: !t, %k: !t) -> !t {
  // SHOWS: error: kv_classify of queries 0 to 15, keys 0 to 15 of batch entry 0, head 0 claims that all keys are visible, but query 0 does not see key 1
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %true = arith.constant true
      %all = arith.cmpi sge, %i1, %j1 : index
      attn.yield %true, %all : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @vague(%q: !t, %k: !t) -> !t {
  // VAGUE: error: kv_classify of queries 0 to 15, keys 16 to 31 of batch entry 0, head 0 claims that some keys are visible, but none are
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %true = arith.constant true
      %false = arith.constant false
      attn.yield %true, %false : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @documents(%q: !t, %k: !t, %doc: tensor<1x40xi32>) -> !t {
  %o = attn.forward %q, %k, %k captures(%doc : tensor<1x40xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %doc: tensor<1x40xi32>) {
      %x = tensor.extract %doc[%b, %i] : tensor<1x40xi32>
      %y = tensor.extract %doc[%b, %j] : tensor<1x40xi32>
      %keep = arith.cmpi sge, %x, %y : i32
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %doc: tensor<1x40xi32>) {
      %x0 = attn.block_min %doc[%b, %i0 to %i1] : tensor<1x40xi32>
      %x1 = attn.block_max %doc[%b, %i0 to %i1] : tensor<1x40xi32>
      %y0 = attn.block_min %doc[%b, %j0 to %j1] : tensor<1x40xi32>
      %y1 = attn.block_max %doc[%b, %j0 to %j1] : tensor<1x40xi32>
      %any = arith.cmpi sge, %x1, %y0 : i32
      %all = arith.cmpi sge, %x0, %y1 : i32
      attn.yield %any, %all : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// The minimum of the keys differs from their maximum.
func.func @wrong_extreme(%q: !t, %k: !t, %doc: tensor<40x2xi1>) -> !t {
  // EXTREME: error: kv_classify {{.*}} claims that all keys are visible
  %o = attn.forward %q, %k, %k captures(%doc : tensor<40x2xi1>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %doc: tensor<40x2xi1>) {
      %keep = tensor.extract %doc[%j, %h] : tensor<40x2xi1>
      attn.yield %keep : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %doc: tensor<40x2xi1>) {
      %any = attn.block_max %doc[%j0 to %j1, %h] : tensor<40x2xi1>
      attn.yield %any, %any : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

func.func @far_index(%q: !t, %k: !t, %doc: tensor<1x40xi32>) -> !t {
  %o = attn.forward %q, %k, %k captures(%doc : tensor<1x40xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %doc: tensor<1x40xi32>) {
      %true = arith.constant true
      attn.yield %true : i1
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %doc: tensor<1x40xi32>) {
      %far = arith.constant 7 : index
      // FAR: error: index of dimension 0 lies outside [0, 1), found 7
      %x = attn.block_max %doc[%far, %j0 to %j1] : tensor<1x40xi32>
      %any = arith.cmpi eq, %x, %x : i32
      attn.yield %any, %any : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// OPTION: error: --check-kv-classify expects two positive numbers
