// Gradients go by lists of blocks: tiles of queries by the op's lists, tiles of keys
// by those that a prologue turns round. Against f64 at all levels: blocks of several
// tiles and of few rows, lists that all heads share and full ones, ragged last blocks,
// rows that list nothing and columns that nothing lists.
// DEFINE: %{run} = fovea-run %s --random=1 --check
// DEFINE: %{masked} = --entry=masked --dims=B=2,Hq=6,Hkv=2,Sq=350,Skv=420,partial_index.3=3
// RUN: %{run} %{masked} --level=tile --target=sm_80
// RUN: %{run} %{masked} --level=warp --target=sm_80 --seeds=3
// RUN: %{run} %{masked} --level=ptx --target=sm_80
// RUN: %{run} %{masked} --level=tile --target=sm_90a
// RUN: %{run} %{masked} --level=warp --target=sm_90a --seeds=5
// RUN: %{run} %{masked} --level=ptx --target=sm_90a
// RUN: %{run} %{masked} --level=ptx --target=sm_90a --schedule=producer_registers=0,tile_n=32

// More queries or keys than the other; a query, a key, none; 1025 of both.
// DEFINE: %{of} = --entry=full --dims=B=1,Hq=2,Hkv=1,partial_index.3=1,full_index.3=2
// RUN: %{run} %{of},Sq=1025,Skv=130 --level=ptx --target=sm_80
// RUN: %{run} %{of},Sq=1025,Skv=130 --level=ptx --target=sm_90a
// RUN: %{run} %{of},Sq=127,Skv=1025 --level=ptx --target=sm_80
// RUN: %{run} %{of},Sq=127,Skv=1025 --level=warp --target=sm_90a
// RUN: %{run} %{of},Sq=127,Skv=1025 --level=ptx --target=sm_90a
// RUN: %{run} %{of},Sq=1,Skv=1 --level=ptx --target=sm_90a
// RUN: %{run} %{of},Sq=1,Skv=1 --level=ptx --target=sm_80
// RUN: %{run} %{of},Sq=1,Skv=0 --level=tile --target=sm_90a

// No blocks of queries or keys that tiles of roles divide.
// DEFINE: %{narrow} = --entry=narrow --dims=B=1,Hq=3,Hkv=1,Sq=200,Skv=170,partial_index.3=4,full_index.3=3
// RUN: %{run} %{narrow} --level=tile --target=sm_80
// RUN: %{run} %{narrow} --level=warp --target=sm_80 --seeds=3
// RUN: %{run} %{narrow} --level=ptx --target=sm_90a

// Wide heads, whose dK and dV have kernels of their own; keys that some entries do not
// have; one order of sums.
// DEFINE: %{wide} = --entry=wide --dims=B=2,Hq=2,Hkv=1,Sq=140,Skv=250,partial_index.3=2
// RUN: %{run} %{wide} --level=tile --target=sm_80
// RUN: %{run} %{wide} --level=ptx --target=sm_80
// DEFINE: %{lengths} = --entry=lengths --dims=B=3,Hq=2,Hkv=1,Sq=140,Skv=250,partial_index.3=2
// RUN: %{run} %{lengths} --level=ptx --target=sm_80
// RUN: %{run} %{lengths} --level=ptx --target=sm_90a

// DEFINE: %{long} = --entry=long --dims=B=1,Hq=4,Hkv=1,Sq=150,Skv=200,partial_index.3=2,full_index.3=3
// One order of sums in roles: blocks in ascending order, found by bits. Of one tile and of three, of
// two turns and of a part of one; turns that blocks of both lists have.
// RUN: sed 's/%%lse, %%do blocks/%%lse, %%do deterministic blocks/; s/%%lse, %%do$/%%lse, %%do deterministic/; s/%%do lengths/%%do deterministic lengths/' %s > %t.ordered.mlir
// DEFINE: %{ordered} = fovea-run %t.ordered.mlir --random=1 --check --target=sm_90a
// RUN: %{ordered} %{masked} --level=tile
// RUN: %{ordered} %{masked} --level=warp --seeds=5
// RUN: %{ordered} %{masked} --level=ptx
// RUN: %{ordered} %{of},Sq=1025,Skv=130 --level=ptx
// RUN: %{ordered} %{of},Sq=127,Skv=1025 --level=warp --seeds=3
// RUN: %{ordered} %{of},Sq=1,Skv=0 --level=tile
// RUN: %{ordered} %{wide} --level=ptx
// RUN: %{ordered} %{lengths} --level=ptx
// RUN: %{ordered} %{long} --level=warp --seeds=3
// RUN: %{ordered} %{long} --level=ptx
// RUN: fovea-compile %t.ordered.mlir --kernel=masked --target=sm_90a --emit=tile | FileCheck %s --check-prefix=ORDERED
// ORDERED-LABEL: gpu.func @masked(
// ORDERED: tile.ballot
// ORDERED: tile.semaphore_wait "turn_acquire"
// ORDERED-LABEL: gpu.func @masked_lists(
// ORDERED: tile.scatter
// ORDERED-NOT: tile.scatter
// ORDERED: gpu.func @masked_turns(
// ORDERED: tile.ballot

// Lists that nobody checked: numbers of blocks that there are not, too many of them, the same one twice.
// RUN: rm -rf %t && fovea-run %s --random=1 %{masked} --save-inputs=%t
// DEFINE: %{hostile} = %python %S/Inputs/hostile_lists.py fovea-run %s masked %t
// RUN: %{hostile} --target=sm_80 | FileCheck %s --check-prefix=WITHIN
// RUN: %{hostile} --target=sm_90a | FileCheck %s --check-prefix=WITHIN
// RUN: %{hostile} --target=sm_90a --schedule=producer_registers=0,tile_n=32 | FileCheck %s --check-prefix=WITHIN
// WITHIN-COUNT-7: within memory
// In one order, too, and no tile waits for a turn that nobody has.
// RUN: rm -rf %t.few && fovea-run %t.ordered.mlir --entry=masked --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=150,Skv=200,partial_index.3=3 --target=sm_90a --level=tile --save-inputs=%t.few
// RUN: %python %S/Inputs/hostile_lists.py fovea-run %t.ordered.mlir masked %t.few --target=sm_90a | FileCheck %s --check-prefix=WITHIN

// One block of queries of any length, in tiles that exist; tiles of 64 keys in roles,
// which are half a tile's elsewhere.
// RUN: %{run} %{long} --level=tile --target=sm_80
// RUN: %{run} %{long} --level=ptx --target=sm_80
// RUN: %{run} %{long} --level=warp --target=sm_90a
// RUN: %{run} %{long} --level=ptx --target=sm_90a
// RUN: fovea-compile %s --kernel=long --target=sm_90a --emit=warp | FileCheck %s --check-prefix=LONG
// LONG-LABEL: gpu.func @long(
// LONG: role @values warps(4)

// Gradients by what score_mod reads, alone and beside the others.
// DEFINE: %{read} = --entry=read --dims=B=2,Hq=4,Hkv=2,Sq=150,Skv=140,capture0.0=4,partial_index.3=1,full_index.3=1
// RUN: %{run} %{read} --level=tile --target=sm_80
// RUN: %{run} %{read} --level=ptx --target=sm_80
// RUN: %{run} %{read} --level=ptx --target=sm_90a

!t = tensor<?x?x?x64xbf16>
!rows = tensor<?x?x?xf32>
!n = tensor<?x1x?xi32>
!i = tensor<?x1x?x?xi32>
!one = tensor<1x1x?xi32>
!ones = tensor<1x1x?x?xi32>
!all = tensor<?x?x?xi32>
!alls = tensor<?x?x?x?xi32>
func.func @masked(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %c: !n, %l: !i) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do blocks(%c, %l : !n, !i, size = [128, 128])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %i, %j : index
      %w = arith.constant 40 : index
      %keep = arith.cmpi slt, %d, %w : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @full(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: !one, %pi: !ones, %fc: !all, %fi: !alls) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%pc, %pi, %fc, %fi : !one, !ones, !all, !alls, size = [192, 384])
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @narrow(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: !all, %pi: !alls, %fc: !one, %fi: !ones) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    blocks(%pc, %pi, %fc, %fi : !all, !alls, !one, !ones, size = [48, 16])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @long(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %pc: !one, %pi: !ones, %fc: !all, %fi: !alls) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do
    blocks(%pc, %pi, %fc, %fi : !one, !ones, !all, !alls, size = [536870912, 64])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

!w = tensor<?x?x?x192xf16>
func.func @wide(%q: !w, %k: !w, %v: !w, %o: !w, %lse: !rows, %do: !w, %c: !n, %l: !i) -> (!w, !w, !w) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do blocks(%c, %l : !n, !i, size = [128, 64])
     : !w, !w, !w, !w, !rows, !w -> !w, !w, !w
  return %0#0, %0#1, %0#2 : !w, !w, !w
}

func.func @lengths(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %lengths: tensor<?xi32>, %c: !n, %l: !i) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do lengths(%lengths : tensor<?xi32>) blocks(%c, %l : !n, !i, size = [64, 128])
     : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

!s = tensor<?xf32>
func.func @read(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %slopes: !s, %pc: !one, %pi: !ones, %fc: !all, %fi: !alls) -> (!t, !t, !t, !s) {
  %0:4 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%slopes : !s)
    blocks(%pc, %pi, %fc, %fi : !one, !ones, !all, !alls, size = [128, 128])
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !s) {
      %slope = tensor.extract %t[%h] : !s
      %r = arith.mulf %s, %slope : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !s) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t, !s
  return %0#0, %0#1, %0#2, %0#3 : !t, !t, !t, !s
}
