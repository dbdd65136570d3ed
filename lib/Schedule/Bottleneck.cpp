//===- Bottleneck.cpp - What bounds a forward kernel ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the floating-point operations, bytes and exponentials of a block of
// keys, and divides them by the target's rates. Latencies, the dependence chain
// and all other instructions are left out.
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/Bottleneck.h"

#include "fovea/Support/Target.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;

// Bytes of shared memory that an SM reads or writes in a cycle.
static constexpr int64_t kSharedRate = 128;
// Bytes of device memory per SM and cycle: 4.8 TB/s by 132 SMs of 1.755 GHz, an
// H200 (NVIDIA's data sheet). An H100 has 14.
static constexpr int64_t kMemoryRate = 20;
// Polynomials replace exponentials in blocks of this many columns.
static constexpr int64_t kColumnBlock = 8;

/// The last extent of a tensor of the launch with that access; 0 if there is
/// none or it is not static.
static int64_t getHeadDim(launch::AbiOp kernel, StringRef name,
                          launch::Access access) {
  for (auto tensor : kernel.getTensors().getAsRange<launch::TensorAttr>())
    if (tensor.getName() == name && tensor.getAccess() == access &&
        tensor.getType().getRank() == 4 && !tensor.getType().isDynamicDim(3))
      return tensor.getType().getDimSize(3);
  return 0;
}

/// The number of queries that share a key head, over all query heads; 0 if it
/// is not static.
static int64_t countRowsOfKeys(launch::AbiOp kernel) {
  int64_t queries = 0, keyHeads = 0;
  for (auto tensor : kernel.getTensors().getAsRange<launch::TensorAttr>()) {
    ArrayRef<int64_t> shape = tensor.getType().getShape();
    if (shape.size() != 4 || tensor.getAccess() != launch::Access::Read)
      continue;
    // The layouts (B, H, S, D) and (B, S, H, D) have the same product.
    if (tensor.getName() == "q" && !ShapedType::isDynamic(shape[1]) &&
        !ShapedType::isDynamic(shape[2]))
      queries = shape[1] * shape[2];
    if (tensor.getName() == "k" &&
        ShapedType::isDynamic(shape[1]) != ShapedType::isDynamic(shape[2]))
      keyHeads = ShapedType::isDynamic(shape[1]) ? shape[2] : shape[1];
  }
  return keyHeads == 0 ? 0 : queries / keyHeads;
}

std::optional<BlockCycles> fovea::getBlockCycles(launch::AbiOp kernel) {
  const TargetInfo *target = lookupTarget(kernel.getTarget());
  plan::KernelAttr plan = kernel.getPlan();
  int64_t d = getHeadDim(kernel, "q", launch::Access::Read),
          dv = getHeadDim(kernel, "v", launch::Access::Read);
  // Gradients read the output.
  if (!target || target->dotRate == 0 || d == 0 || dv == 0 ||
      getHeadDim(kernel, "o", launch::Access::Write) != dv ||
      !plan.copiesByTma())
    return std::nullopt;
  int64_t rows = plan->tileM, keys = plan->tileN, bytes = 2;
  // Each instruction reads the first operand of its rows, unless it is in
  // registers or tensor memory, and all of the second one.
  int64_t parts = rows / plan.getUnit().getGroupRows();
  int64_t read = bytes * (rows * d + parts * keys * (d + dv));
  int64_t copied = bytes * keys * (d + dv);
  int64_t byPolynomial =
      keys * plan.getDot("o").operandByFma / 100 / kColumnBlock * kColumnBlock;
  // One more exponential per row rescales.
  int64_t exponentials = rows * (keys - byPolynomial + 1);
  int64_t rowsOfKeys = countRowsOfKeys(kernel);
  bool readsOnce = rowsOfKeys != 0 && rowsOfKeys <= rows;
  return BlockCycles{2 * rows * keys * (d + dv) / target->dotRate,
                     (read + copied) / kSharedRate,
                     exponentials / target->specialRate,
                     readsOnce ? copied / kMemoryRate : 0};
}

std::string fovea::explainBottleneck(launch::AbiOp kernel) {
  StringRef name = kernel.getKernel();
  std::optional<BlockCycles> cycles = getBlockCycles(kernel);
  if (!cycles)
    return llvm::formatv("kernel '{0}': no bottleneck is computed; the model "
                         "covers forward kernels with wgmma or tcgen05",
                         name);
  SmallVector<std::pair<int64_t, StringRef>> units = {
      {cycles->dots, "dots"},
      {cycles->sharedMemory, "shared memory"},
      {cycles->exponentials, "exponentials"}};
  if (cycles->deviceMemory != 0)
    units.push_back({cycles->deviceMemory, "device memory"});
  auto *most = llvm::max_element(units, llvm::less_first());
  std::string others;
  for (auto &unit : units)
    if (&unit != &*most)
      others += llvm::formatv("{0}{1} {2}", others.empty() ? "" : ", ",
                              unit.second, unit.first);
  plan::KernelAttr plan = kernel.getPlan();
  return llvm::formatv(
      "kernel '{0}': bound by {1}: {2} cycles of an SM for {3} "
      "queries and {4} keys ({5}; computed, without latencies)",
      name, most->second, most->first, plan->tileM, plan->tileN, others);
}
