// Values that are columns of K, compared with the interpreter of attn.forward: head dims whose last
// panel is partial, masks, lengths, rows of several heads, and a schedule with one stage.
// REQUIRES: fovea-run
// DEFINE: %{target} = sm_90a
// DEFINE: %{schedule} = auto
// DEFINE: %{options} =
// DEFINE: %{run} = fovea-run %s --target=%{target} --schedule=%{schedule} --random=1 --check %{options} | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: o {{.*}}: passed
// NUMBERS: lse {{.*}}: passed
// REDEFINE: %{options} = --entry=dense --level=warp --seeds=3 --dims=B=2,Hq=4,Hkv=2,Sq=150,Skv=300
// RUN: %{run}
// REDEFINE: %{options} = --entry=dense --level=ptx --dims=B=1,Hq=2,Hkv=1,Sq=150,Skv=300
// RUN: %{run}
// REDEFINE: %{schedule} = stages=1,key_stages=1
// RUN: %{run}
// REDEFINE: %{schedule} = auto
// REDEFINE: %{options} = --entry=causal --level=ptx --dims=B=1,Hq=3,Hkv=1,Sq=200,Skv=190
// RUN: %{run}
// REDEFINE: %{options} = --entry=decode --level=warp --seeds=3 --dims=B=3,Skv=200
// RUN: %{run}
// REDEFINE: %{options} = --entry=decode --level=ptx --dims=B=3,Skv=200
// RUN: %{run}
// REDEFINE: %{target} = sm_80
// RUN: %{run}
// REDEFINE: %{options} = --entry=causal --level=ptx --dims=B=1,Hq=3,Hkv=1,Sq=200,Skv=190
// RUN: %{run}

// RUN: fovea-compile %s --kernel=dense --target=sm_90a --emit=warp | FileCheck %s
// CHECK-LABEL: gpu.func @dense(
// CHECK: role @load
// CHECK: warp.copy {{.*}}"k"
// CHECK-NOT: warp.copy {{.*}}"v"
// CHECK: gpu.return

func.func @dense(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k value_columns(0, 128)
    : tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16> -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

func.func @causal(%q: tensor<?x?x?x72xf16>, %k: tensor<?x?x?x72xf16>) -> (tensor<?x?x?x56xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k value_columns(0, 56)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<?x?x?x72xf16>, tensor<?x?x?x72xf16> -> tensor<?x?x?x56xf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x56xf16>, tensor<?x?x?xf32>
}

func.func @decode(%q: tensor<?x16x1x192xbf16>, %k: tensor<?x1x?x192xbf16>, %n: tensor<?xi32>) -> (tensor<?x16x1x128xbf16>, tensor<?x16x1xf32>) {
  %o, %lse = attn.forward %q, %k value_columns(0, 128) lengths(%n : tensor<?xi32>)
    : tensor<?x16x1x192xbf16>, tensor<?x1x?x192xbf16> -> tensor<?x16x1x128xbf16>, tensor<?x16x1xf32>
  return %o, %lse : tensor<?x16x1x128xbf16>, tensor<?x16x1xf32>
}
