//===- Target.cpp - Compilation targets -------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/Target.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fovea;

// Shared memory according to the table of technical specifications in the CUDA
// C++ Programming Guide: 163 KiB for compute capability 8.0 and 8.7, 99 for
// 8.6, 8.9 and 12.0, 227 for 9.0, 10.0 and 10.3. Rates of dots and exponentials
// follow from the data sheets of H200, B200 and B300 and from the guide's table
// of arithmetic instructions.
static constexpr TargetInfo kTargets[] = {
    {"sm_80", "+ptx74", 163 * 1024, 65536},
    {"sm_86", "+ptx74", 99 * 1024, 65536},
    {"sm_87", "+ptx74", 163 * 1024, 65536},
    {"sm_89", "+ptx78", 99 * 1024, 65536},
    {"sm_90", "+ptx80", 227 * 1024, 65536, /*warpGroupDots=*/false,
     /*overlapsLaunches=*/true},
    {"sm_90a", "+ptx81", 227 * 1024, 65536, /*warpGroupDots=*/true,
     /*overlapsLaunches=*/true, /*tensorMemoryDots=*/false,
     /*addsVectors=*/true, /*reducingTmemLoads=*/false,
     /*packsFloats=*/false, /*specialRate=*/16, /*dotRate=*/4096},
    {"sm_100", "+ptx86", 227 * 1024, 65536, /*warpGroupDots=*/false,
     /*overlapsLaunches=*/true},
    {"sm_100a", "+ptx88", 227 * 1024, 65536, /*warpGroupDots=*/false,
     /*overlapsLaunches=*/true, /*tensorMemoryDots=*/true,
     /*addsVectors=*/true, /*reducingTmemLoads=*/false,
     /*packsFloats=*/true, /*specialRate=*/16, /*dotRate=*/8192},
    {"sm_103a", "+ptx88", 227 * 1024, 65536, /*warpGroupDots=*/false,
     /*overlapsLaunches=*/true, /*tensorMemoryDots=*/true,
     /*addsVectors=*/true, /*reducingTmemLoads=*/true,
     /*packsFloats=*/true, /*specialRate=*/32, /*dotRate=*/8192},
    {"sm_120", "+ptx87", 99 * 1024, 65536, /*warpGroupDots=*/false,
     /*overlapsLaunches=*/true},
    {"sm_120a", "+ptx88", 99 * 1024, 65536, /*warpGroupDots=*/false,
     /*overlapsLaunches=*/true, /*tensorMemoryDots=*/false,
     /*addsVectors=*/true},
};

ArrayRef<TargetInfo> fovea::getTargets() { return kTargets; }

const TargetInfo *fovea::lookupTarget(StringRef name) {
  for (const TargetInfo &target : kTargets)
    if (target.name == name)
      return &target;
  return nullptr;
}

/// Returns the compute capability in a target name as users write it: "90a" in
/// "sm90a", "SM_90A", "compute_90a" and "9.0a".
static std::string getGeneration(StringRef name) {
  std::string generation;
  for (char c : name)
    if (llvm::isAlnum(c))
      generation += llvm::toLower(c);
  StringRef rest = generation;
  if (!rest.consume_front("sm"))
    rest.consume_front("compute");
  return rest.str();
}

const TargetInfo *
fovea::lookupTarget(StringRef name,
                    function_ref<InFlightDiagnostic()> emitError) {
  if (const TargetInfo *target = lookupTarget(name))
    return target;
  InFlightDiagnostic diag = emitError();
  diag << "unknown target '" << name << "', expected one of ";
  llvm::interleaveComma(kTargets, diag, [&](const TargetInfo &target) {
    diag << "'" << target.name << "'";
  });
  for (const TargetInfo &target : kTargets)
    if (getGeneration(name) == getGeneration(target.name))
      diag << "; did you mean '" << target.name << "'?";
  return nullptr;
}
