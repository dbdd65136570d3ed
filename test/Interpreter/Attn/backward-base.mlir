// An LSE to base 2, as some libraries return it, is reported as a wrong base.
// REQUIRES: fovea-run
// DEFINE: %{inputs} = --inputs %t/q.npy %t/k.npy %t/v.npy %t/o.npy %t/lse.npy %t/do.npy
// RUN: rm -rf %t && fovea-run %s --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=9,Skv=11 --save-inputs=%t
// RUN: fovea-run %s %{inputs}
// RUN: %python -c "import sys, numpy as np; name = sys.argv[1]; np.save(name, np.load(name) * np.float32(np.log2(np.e)))" %t/lse.npy
// RUN: not fovea-run %s %{inputs} 2>&1 | FileCheck %s
// CHECK: backward-base.mlir:[[#@LINE+5]]:{{.*}}error: 'lse' must be a natural logarithm, found one to base 2

!t = tensor<?x?x?x16xbf16>
!rows = tensor<?x?x?xf32>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
