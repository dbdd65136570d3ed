// Merged, attention over the first keys and over the others equals attention
// over all keys. Row 0 has no keys in the second part.
// RUN: fovea-run %s --entry=parts --precision=exact --random=7 --dims arg0.2=9,arg1.2=20 --save-inputs=%t.d --outputs %t.o.npy %t.lse.npy
// RUN: fovea-run %s --entry=whole --precision=exact --inputs %t.d/arg0.npy %t.d/arg1.npy --outputs %t.wo.npy %t.wlse.npy
// RUN: %python -c "import numpy as np; o, wo, l, wl = map(np.load, [r'%t.o.npy', r'%t.wo.npy', r'%t.lse.npy', r'%t.wlse.npy']); print(np.abs(o - wo).max() < 1e-6, np.abs(l - wl).max() < 1e-6, o.shape)" | FileCheck %s
// CHECK: True True (1, 2, 9, 8)

// The same parts, stacked.
// RUN: fovea-run %s --entry=halves --precision=exact --inputs %t.d/arg0.npy %t.d/arg1.npy --outputs %t.o0.npy %t.l0.npy %t.o1.npy %t.l1.npy
// RUN: %python -c "import numpy as np; [np.save(to, np.stack([np.load(one) for one in parts])) for to, *parts in ((r'%t.os.npy', r'%t.o0.npy', r'%t.o1.npy'), (r'%t.ls.npy', r'%t.l0.npy', r'%t.l1.npy'))]"
// RUN: fovea-run %s --entry=stacked --precision=exact --inputs %t.os.npy %t.ls.npy --outputs %t.so.npy %t.slse.npy
// RUN: %python -c "import numpy as np; o, so, l, sl = map(np.load, [r'%t.o.npy', r'%t.so.npy', r'%t.lse.npy', r'%t.slse.npy']); print(np.abs(o - so).max() < 1e-6, np.abs(l - sl).max() < 1e-6)" | FileCheck %s --check-prefix=STACKED
// STACKED: True True

// Without parts O is 0 and LSE -inf.
// RUN: fovea-run %s --entry=stacked --random=7 --dims parts=0,Sq=3 --outputs %t.no.npy %t.nlse.npy
// RUN: %python -c "import numpy as np; print(abs(np.load(r'%t.no.npy')).max(), np.load(r'%t.nlse.npy').max())" | FileCheck %s --check-prefix=NONE
// NONE: 0.0 -inf

func.func @parts(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?xf32>) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %k, %c2 : tensor<1x2x?x8xf32>
  %first = arith.constant 5 : index
  %rest = arith.subi %n, %first : index
  %k0 = tensor.extract_slice %k[0, 0, 0, 0] [1, 2, %first, 8] [1, 1, 1, 1] : tensor<1x2x?x8xf32> to tensor<1x2x?x8xf32>
  %k1 = tensor.extract_slice %k[0, 0, %first, 0] [1, 2, %rest, 8] [1, 1, 1, 1] : tensor<1x2x?x8xf32> to tensor<1x2x?x8xf32>
  %o0, %lse0 = attn.forward %q, %k0, %k0
    : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
  %o1, %lse1 = attn.forward %q, %k1, %k1
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %zero = arith.constant 0 : index
      %keep = arith.cmpi ne, %i, %zero : index
      attn.yield %keep : i1
    } : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
  %o, %lse = attn.merge (%o0, %lse0), (%o1, %lse1)
    : tensor<1x2x?x8xf32>, tensor<1x2x?xf32> -> tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
  return %o, %lse : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
}

func.func @whole(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?xf32>) {
  %o, %lse = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %zero = arith.constant 0 : index
      %five = arith.constant 5 : index
      %later = arith.cmpi ne, %i, %zero : index
      %early = arith.cmpi slt, %j, %five : index
      %keep = arith.ori %later, %early : i1
      attn.yield %keep : i1
    } : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
  return %o, %lse : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
}

func.func @halves(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?xf32>) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %k, %c2 : tensor<1x2x?x8xf32>
  %first = arith.constant 5 : index
  %rest = arith.subi %n, %first : index
  %k0 = tensor.extract_slice %k[0, 0, 0, 0] [1, 2, %first, 8] [1, 1, 1, 1] : tensor<1x2x?x8xf32> to tensor<1x2x?x8xf32>
  %k1 = tensor.extract_slice %k[0, 0, %first, 0] [1, 2, %rest, 8] [1, 1, 1, 1] : tensor<1x2x?x8xf32> to tensor<1x2x?x8xf32>
  %o0, %lse0 = attn.forward %q, %k0, %k0
    : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
  %o1, %lse1 = attn.forward %q, %k1, %k1
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %zero = arith.constant 0 : index
      %keep = arith.cmpi ne, %i, %zero : index
      attn.yield %keep : i1
    } : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32> -> tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
  return %o0, %lse0, %o1, %lse1 : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
}

func.func @stacked(%os: tensor<?x1x2x?x8xf32>, %ls: tensor<?x1x2x?xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?xf32>) {
  %o, %lse = attn.merge (%os, %ls)
    : tensor<?x1x2x?x8xf32>, tensor<?x1x2x?xf32> -> tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
  return %o, %lse : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
}
