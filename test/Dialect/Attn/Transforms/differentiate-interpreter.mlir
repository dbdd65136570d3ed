// Executes the result of attn-differentiate and compares it with finite differences.
// REQUIRES: fovea-run
// DEFINE: %{gradients} = %python %S/../../../Interpreter/Inputs/gradients.py
// DEFINE: %{d} = %t.d
// DEFINE: %{run} = fovea-run %t.mlir --precision=exact --inputs %{d}/q.npy %{d}/k.npy %{d}/v.npy %{d}/o.npy %{d}/lse.npy %{d}/do.npy

// RUN: fovea-opt %s --attn-differentiate --canonicalize --cse > %t.mlir

// A soft cap with a learnt limit, slopes by head and relative position, a table that
// is read at the relative position and at the key, and a mask with empty rows.
// DEFINE: %{capped} = sizes=2,2,1,7,6,4,4 captures=c:,w:2,t:16 mask="j <= i - 2" \
// DEFINE:   score="c * np.tanh(s / c) + w[h] * (j - i) + t[i - j + 6] * t[j]"
// RUN: %{gradients} inputs %{d} %{capped}
// RUN: %{run} %{d}/c.npy %{d}/w.npy %{d}/t.npy --entry=capped \
// RUN:   --outputs %{d}/dq.npy %{d}/dk.npy %{d}/dv.npy %{d}/dc.npy %{d}/dw.npy %{d}/dt.npy
// RUN: %{gradients} check %{d} %{capped} by=q,k,v,c,w,t | FileCheck %s --check-prefix=CAPPED
// CAPPED: dq agrees
// CAPPED-NEXT: dk agrees
// CAPPED-NEXT: dv agrees
// CAPPED-NEXT: dc agrees
// CAPPED-NEXT: dw agrees
// CAPPED-NEXT: dt agrees

// All ops that rules emit. Terms are small, so that none dominates.
// DEFINE: %{all} = sizes=1,1,1,5,4,4,4 captures=x:,y:5x4 magnitude=0.3 \
// DEFINE:   score="(lambda p, n: s * np.tanh(s) + np.exp(0.1 * s) + 2**(s / 8) + np.expm1(s / 8) + np.log(p) * np.log2(p) + np.log10(p) * np.log1p(p) + np.sqrt(p) * n + 1 / np.sqrt(p) + np.cbrt(s) / 4 + np.sin(s) * np.cos(x) + np.tan(s / 4) + np.arcsin(n) + np.arccos(n) * x + np.arctan(s) + np.arctan2(s, p) + np.sinh(n) * np.cosh(n) + np.arcsinh(s) + np.arccosh(p + 1) + np.arctanh(n) + np.abs(s) * np.copysign(x, n) + p**(n * 2) + s**3 / 8 + np.fmod(p, x + 4) + np.maximum(s, x) + np.minimum(s, n) + np.fmax(s, -x) + np.fmin(s, -n) + np.floor(s) + np.where(i < j, s * s, n) + np.clip(s, n, n + 0.5))(s * s + 0.5, np.tanh(y[i, j] + s / 8) / 2)"
// RUN: %{gradients} inputs %{d} %{all}
// RUN: %{run} %{d}/x.npy %{d}/y.npy --entry=all --outputs %{d}/dq.npy %{d}/dk.npy %{d}/dv.npy %{d}/dx.npy %{d}/dy.npy
// RUN: %{gradients} check %{d} %{all} by=q,k,v,x,y | FileCheck %s --check-prefix=ALL
// ALL: dq agrees
// ALL-NEXT: dk agrees
// ALL-NEXT: dv agrees
// ALL-NEXT: dx agrees
// ALL-NEXT: dy agrees

!t = tensor<?x?x?x4xf32>
!rows = tensor<?x?x?xf32>
func.func @capped(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %c: f32, %w: tensor<?xf32>, %t: tensor<?xf32>)
    -> (!t, !t, !t, tensor<f32>, tensor<?xf32>, tensor<?xf32>) {
  %0:6 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1, 2])
      captures(%c, %w, %t : f32, tensor<?xf32>, tensor<?xf32>)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %rc: f32, %rw: tensor<?xf32>, %rt: tensor<?xf32>) {
        %c6 = arith.constant 6 : index
        %0 = arith.divf %s, %rc : f32
        %1 = math.tanh %0 : f32
        %2 = arith.mulf %rc, %1 : f32
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %slope = tensor.extract %rw[%h] : tensor<?xf32>
        %3 = arith.mulf %slope, %df : f32
        %at = arith.subi %c6, %d : index
        %4 = tensor.extract %rt[%at] : tensor<?xf32>
        %5 = tensor.extract %rt[%j] : tensor<?xf32>
        %6 = arith.mulf %4, %5 : f32
        %7 = arith.addf %2, %3 : f32
        %8 = arith.addf %7, %6 : f32
        attn.yield %8 : f32
      }
      mask_mod(%b: index, %h: index, %i: index, %j: index, %rc: f32, %rw: tensor<?xf32>, %rt: tensor<?xf32>) {
        %c2 = arith.constant 2 : index
        %first = arith.subi %i, %c2 : index
        %keep = arith.cmpi sle, %j, %first : index
        attn.yield %keep : i1
      }
      : !t, !t, !t, !t, !rows, !t -> !t, !t, !t, tensor<f32>, tensor<?xf32>, tensor<?xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : !t, !t, !t, tensor<f32>, tensor<?xf32>, tensor<?xf32>
}

func.func @all(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %x: f32, %y: tensor<?x?xf32>)
    -> (!t, !t, !t, tensor<f32>, tensor<?x?xf32>) {
  %0:5 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0, 1])
      captures(%x, %y : f32, tensor<?x?xf32>)
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %rx: f32, %ry: tensor<?x?xf32>) {
        %yij = tensor.extract %ry[%i, %j] : tensor<?x?xf32>
        %k0 = arith.constant 0.5 : f32
        %v1 = math.fma %s, %s, %k0 : f32
        %k1 = arith.constant 0.125 : f32
        %v2 = arith.mulf %s, %k1 : f32
        %v3 = arith.addf %yij, %v2 : f32
        %v4 = math.tanh %v3 : f32
        %v5 = arith.mulf %v4, %k0 : f32
        %v6 = math.tanh %s : f32
        %v7 = arith.mulf %s, %v6 : f32
        %k2 = arith.constant 0.1 : f32
        %v8 = arith.mulf %s, %k2 : f32
        %v9 = math.exp %v8 : f32
        %v10 = arith.mulf %s, %k1 : f32
        %v11 = math.exp2 %v10 : f32
        %v12 = arith.mulf %s, %k1 : f32
        %v13 = math.expm1 %v12 : f32
        %v14 = math.log %v1 : f32
        %v15 = math.log2 %v1 : f32
        %v16 = arith.mulf %v14, %v15 : f32
        %v17 = math.log10 %v1 : f32
        %v18 = math.log1p %v1 : f32
        %v19 = arith.mulf %v17, %v18 : f32
        %v20 = math.sqrt %v1 : f32
        %v21 = arith.mulf %v20, %v5 : f32
        %v22 = math.rsqrt %v1 : f32
        %v23 = math.cbrt %s : f32
        %k3 = arith.constant 0.25 : f32
        %v24 = arith.mulf %v23, %k3 : f32
        %v25 = math.sin %s : f32
        %v26 = math.cos %rx : f32
        %v27 = arith.mulf %v25, %v26 : f32
        %v28 = arith.mulf %s, %k3 : f32
        %v29 = math.tan %v28 : f32
        %v30 = math.asin %v5 : f32
        %v31 = math.acos %v5 : f32
        %v32 = arith.mulf %v31, %rx : f32
        %v33 = math.atan %s : f32
        %v34 = math.atan2 %s, %v1 : f32
        %v35 = math.sinh %v5 : f32
        %v36 = math.cosh %v5 : f32
        %v37 = arith.mulf %v35, %v36 : f32
        %v38 = math.asinh %s : f32
        %k4 = arith.constant 1.0 : f32
        %v39 = arith.addf %v1, %k4 : f32
        %v40 = math.acosh %v39 : f32
        %v41 = math.atanh %v5 : f32
        %v42 = math.absf %s : f32
        %v43 = math.copysign %rx, %v5 : f32
        %v44 = arith.mulf %v42, %v43 : f32
        %k5 = arith.constant 2.0 : f32
        %v45 = arith.mulf %v5, %k5 : f32
        %v46 = math.powf %v1, %v45 : f32
        %three = arith.constant 3 : i32
        %v47 = math.fpowi %s, %three : f32, i32
        %v48 = arith.mulf %v47, %k1 : f32
        %k6 = arith.constant 4.0 : f32
        %v49 = arith.addf %rx, %k6 : f32
        %v50 = arith.remf %v1, %v49 : f32
        %v51 = arith.maximumf %s, %rx : f32
        %v52 = arith.minimumf %s, %v5 : f32
        %v53 = arith.negf %rx : f32
        %v54 = arith.maxnumf %s, %v53 : f32
        %v55 = arith.negf %v5 : f32
        %v56 = arith.minnumf %s, %v55 : f32
        %v57 = math.floor %s : f32
        %before = arith.cmpi slt, %i, %j : index
        %v58 = arith.mulf %s, %s : f32
        %chosen = arith.select %before, %v58, %v5 : f32
        %v59 = arith.addf %v5, %k0 : f32
        %clamped = math.clampf %s to [%v5, %v59] : f32
        %v60 = arith.addf %v7, %v9 : f32
        %v61 = arith.addf %v60, %v11 : f32
        %v62 = arith.addf %v61, %v13 : f32
        %v63 = arith.addf %v62, %v16 : f32
        %v64 = arith.addf %v63, %v19 : f32
        %v65 = arith.addf %v64, %v21 : f32
        %v66 = arith.addf %v65, %v22 : f32
        %v67 = arith.addf %v66, %v24 : f32
        %v68 = arith.addf %v67, %v27 : f32
        %v69 = arith.addf %v68, %v29 : f32
        %v70 = arith.addf %v69, %v30 : f32
        %v71 = arith.addf %v70, %v32 : f32
        %v72 = arith.addf %v71, %v33 : f32
        %v73 = arith.addf %v72, %v34 : f32
        %v74 = arith.addf %v73, %v37 : f32
        %v75 = arith.addf %v74, %v38 : f32
        %v76 = arith.addf %v75, %v40 : f32
        %v77 = arith.addf %v76, %v41 : f32
        %v78 = arith.addf %v77, %v44 : f32
        %v79 = arith.addf %v78, %v46 : f32
        %v80 = arith.addf %v79, %v48 : f32
        %v81 = arith.addf %v80, %v50 : f32
        %v82 = arith.addf %v81, %v51 : f32
        %v83 = arith.addf %v82, %v52 : f32
        %v84 = arith.addf %v83, %v54 : f32
        %v85 = arith.addf %v84, %v56 : f32
        %v86 = arith.addf %v85, %v57 : f32
        %v87 = arith.addf %v86, %chosen : f32
        %v88 = arith.addf %v87, %clamped : f32
        attn.yield %v88 : f32
      }
      : !t, !t, !t, !t, !rows, !t -> !t, !t, !t, tensor<f32>, tensor<?x?xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4 : !t, !t, !t, tensor<f32>, tensor<?x?xf32>
}
