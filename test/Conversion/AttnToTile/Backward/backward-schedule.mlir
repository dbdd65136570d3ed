// The schedule in the metadata can be requested again.
// REQUIRES: fovea-compile
// RUN: fovea-compile %s --target=sm_90a -o %t.ptx --metadata=%t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: fovea-compile %s --target=sm_90a --schedule=tile_m=128,tile_n=128,warps=8,stages=2,query_in_registers=0,min_blocks=1,key_stages=2,producer_registers=24,consumer_registers=208,overlap=1,work=dynamic,output=tma -o %t.again.ptx
// RUN: cmp %t.ptx %t.again.ptx
// CHECK: "schedule": {"tile_m":128,"tile_n":128,"warps":8,"stages":2,"query_in_registers":0,"min_blocks":1,"key_stages":2,"producer_registers":24,"consumer_registers":208,"overlap":1,"work":"dynamic","output":"tma"}

// Key stages and the work schedule can be requested with roles.
// RUN: fovea-compile %s --target=sm_90a --schedule=key_stages=1,work=static --emit=metadata | FileCheck %s --check-prefix=STATIC
// RUN: fovea-compile %s --target=sm_90a --schedule=work=single --emit=metadata | FileCheck %s --check-prefix=SINGLE
// RUN: not fovea-compile %s --target=sm_90a --schedule=key_stages=2,work=single 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not fovea-compile %s --target=sm_90a --schedule=key_stages=3 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not fovea-compile %s --target=sm_90a --schedule=producer_registers=0,work=dynamic 2>&1 | FileCheck %s --check-prefix=WORK
// RUN: not fovea-compile %s --target=sm_90a --schedule=producer_registers=0,key_stages=2 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: fovea-compile %s --target=sm_90a --schedule=output=direct --emit=metadata | FileCheck %s --check-prefix=DIRECT
// RUN: not fovea-compile %s --target=sm_90a --schedule=producer_registers=0,output=tma 2>&1 | FileCheck %s --check-prefix=ROLES
// DIRECT: "overlap":1,"work":"dynamic"}
// ROLES: error: schedule's 'output' tma needs roles: set 'producer_registers'
// STATIC: "key_stages":1,{{.*}}"work":"static"
// STATIC: "persistent":
// SINGLE: "key_stages":1,
// SINGLE-NOT: "persistent":
// STAGES: error: schedule's 'key_stages' must be in [1, 1] for these head dims and this 'work', found 2
// MANY: error: schedule's 'key_stages' must be in [1, 2] for these head dims and this 'work', found 3
// WORK: error: schedule's 'work' must be single without roles ('producer_registers'), found dynamic
// KEYS: error: schedule's 'key_stages' needs roles: set 'producer_registers'

!t = tensor<?x?x?x64xbf16>
func.func @dense(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x?x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, tensor<?x?x?xf32>, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
