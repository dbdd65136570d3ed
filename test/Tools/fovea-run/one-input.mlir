// One input that is query, key and value goes by three names: a kernel gets it
// thrice, a kernel that draws three is no implementation of the program.
// DEFINE: %{sizes} = --random=1 --dims B=1,Hq=2,Sq=40
// RUN: fovea-run --target=sm_80 %s --level=tile %{sizes} --check | FileCheck %s
// CHECK: o 1x2x40x16: {{.*}}: passed

// RUN: fovea-compile --target=sm_80 %s --emit=metadata -o %t.json
// RUN: not env LD_LIBRARY_PATH=%fake_driver fovea-run --target=sm_80 %s %{sizes} --device=cuda --kernel=%s --metadata=%t.json --check 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE-NOT: error:
// DEVICE: o 1x2x40x16: {{.*}}: FAILED

// RUN: fovea-opt %s --fovea-to-tile=target=sm_80 -o %t.mlir
// RUN: not fovea-run %t.mlir --reference=%s %{sizes},Hkv=2,Skv=40 --check 2>&1 | FileCheck %s --check-prefix=APART
// APART: error: 'q' and 'k' are one input of the reference and two of the program

func.func @f(%x: tensor<?x?x?x16xbf16>) -> tensor<?x?x?x16xbf16> {
  %o = attn.forward %x, %x, %x : tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16>, tensor<?x?x?x16xbf16> -> tensor<?x?x?x16xbf16>
  return %o : tensor<?x?x?x16xbf16>
}
