// What the metadata says of a kernel's schedule can be asked for again.
// REQUIRES: fovea-compile
// RUN: fovea-compile %s --target=sm_90a -o %t.ptx --metadata=%t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: fovea-compile %s --target=sm_90a --schedule=tile_m=128,tile_n=128,warps=8,stages=2,query_in_registers=0,min_blocks=1,key_stages=2,producer_registers=24,consumer_registers=208,overlap=1,work=dynamic -o %t.again.ptx
// RUN: cmp %t.ptx %t.again.ptx
// CHECK: "schedule": {"tile_m":128,"tile_n":128,"warps":8,"stages":2,"query_in_registers":0,"min_blocks":1,"key_stages":2,"producer_registers":24,"consumer_registers":208,"overlap":1,"work":"dynamic"}

!t = tensor<?x?x?x64xbf16>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x?x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, tensor<?x?x?xf32>, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
