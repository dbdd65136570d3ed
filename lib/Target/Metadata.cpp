//===- Metadata.cpp - Launch metadata of a kernel ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes launch metadata as JSON, one line per member and list element.
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/Metadata.h"

#include "Translation.h"

#include "fovea/Schedule/GivenPlans.h"
#include "fovea/Schedule/Schedule.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::launch;

static void writeTensor(TensorAttr tensor, llvm::json::OStream &json) {
  auto dims = tensor.getDims().getAsRange<StringAttr>();
  json.attribute("name", tensor.getName());
  json.attribute("access", stringifyAccess(tensor.getAccess()));
  std::string dtype;
  llvm::raw_string_ostream(dtype) << tensor.getType().getElementType();
  json.attribute("dtype", dtype);
  json.attributeArray("shape", [&] {
    for (auto [name, size] : llvm::zip(dims, tensor.getType().getShape()))
      if (ShapedType::isDynamic(size))
        json.value(name.getValue());
      else
        json.value(size);
  });
  json.attributeArray("dims", [&] {
    for (StringAttr name : dims)
      json.value(name.getValue());
  });
  json.attribute("alignment", tensor.getAlignment());
}

static LogicalResult checkFinal(AbiOp abi) {
  for (auto [index, attr] : llvm::enumerate(abi.getParameters()))
    if (!cast<ParameterAttrInterface>(attr).isFinal())
      return abi.emitError() << "parameter #" << index << " of '"
                             << abi.getKernel() << "' is still " << attr
                             << "; launch metadata needs parameters that a "
                                "host can pass";
  return success();
}

static llvm::json::Value getGrid(AbiOp abi) {
  return llvm::json::Array{
      toJSON(abi.getGrid().getResult(0), abi.getGridSizes()), 1, 1};
}

static llvm::json::Value getBlock(AbiOp abi) {
  return llvm::json::Array{static_cast<int64_t>(abi.getThreads()), 1, 1};
}

/// Writes the schedule, for readers only: hosts ignore it.
static void writeSchedule(AbiOp abi, llvm::json::OStream &json) {
  json.attributeObject(
      "schedule", [&] { ScheduleFields::from(abi.getPlan()).writeJSON(json); });
}

/// Writes a kernel that runs before or after the main one.
static void writeHelperKernel(AbiOp abi, llvm::json::OStream &json) {
  json.attribute("kernel", abi.getKernel());
  json.attributeArray("parameters", [&] {
    for (auto attr : abi.getParameters().getAsRange<ParameterAttrInterface>())
      json.object([&] { attr.writeJSON(json); });
  });
  json.attribute("grid", getGrid(abi));
  json.attribute("block", getBlock(abi));
  json.attribute("shared_memory", static_cast<int64_t>(abi.getSharedMemory()));
  if (abi.getOverlapped())
    json.attribute("overlapped", 1);
  writeSchedule(abi, json);
}

/// Returns true if a kernel of the prologue does more than read tensors and
/// write scratch memory, so that hosts need version 3.
static bool needsWritingPrologue(AbiOp kernel) {
  return llvm::any_of(
             kernel.getParameters(),
             llvm::IsaPred<ScalarParameterAttr, TensorMapParameterAttr>) ||
         llvm::any_of(kernel.getTensors().getAsRange<TensorAttr>(),
                      [](TensorAttr tensor) {
                        return tensor.getAccess() != Access::Read;
                      });
}

static bool needsZeros(AbiOp kernel) {
  return llvm::any_of(kernel.getParameters(), [](Attribute parameter) {
    auto scratch = dyn_cast<ScratchParameterAttr>(parameter);
    return scratch && scratch.getZeroed();
  });
}

/// True if the kernel updates a part of a tensor in place.
static bool updatesTensors(AbiOp abi) {
  return llvm::any_of(
      abi.getTensors().getAsRange<TensorAttr>(),
      [](TensorAttr tensor) { return tensor.getAccess() == Access::Update; });
}

/// True if hosts of version 4 would misread the contents of a tensor.
static bool hasPageTables(AbiOp abi) {
  ArrayAttr all = abi.getContentsAttr();
  return all && llvm::any_of(all.getAsRange<ContentsAttr>(),
                             [](ContentsAttr contents) {
                               return contents.getPage() != 0 ||
                                      contents.getTimes() != 1;
                             });
}

/// True if scratch memory depends on the number of CTAs.
static bool dependsOnCtas(AbiOp abi) {
  return llvm::any_of(abi.getParameters(), [](Attribute parameter) {
    auto scratch = dyn_cast<ScratchParameterAttr>(parameter);
    return scratch &&
           llvm::is_contained(scratch.getSizes().getAsValueRange<StringAttr>(),
                              kCtasSize);
  });
}

/// The oldest version that describes the launch. A host that does not support
/// scratch memory per CTA, page tables, updated tensors, epilogues, zeroed
/// scratch memory, prologues, or prologues that write tensors must reject it.
static int64_t getVersion(AbiOp abi) {
  if (dependsOnCtas(abi))
    return kMetadataVersion;
  if (hasPageTables(abi) || updatesTensors(abi))
    return 5;
  if (abi.getEpilogue() || llvm::any_of(getLaunchedKernels(abi), needsZeros))
    return 4;
  SmallVector<AbiOp> prologue = getPrologueKernels(abi);
  if (prologue.empty())
    return 1;
  return llvm::any_of(prologue, needsWritingPrologue) ? 3 : 2;
}

LogicalResult fovea::writeMetadata(AbiOp abi, llvm::raw_ostream &os) {
  for (AbiOp kernel : getLaunchedKernels(abi))
    if (failed(checkFinal(kernel)))
      return failure();

  // One line for each member and each list element, for readability.
  auto member = [&](StringRef name,
                    function_ref<void(llvm::json::OStream &)> write,
                    bool last = false) {
    os << "  \"" << name << "\": ";
    llvm::json::OStream json(os);
    write(json);
    json.flush();
    os << (last ? "\n" : ",\n");
  };
  auto list = [&](StringRef name, auto elements, auto write,
                  bool last = false) {
    os << "  \"" << name << "\": [";
    bool first = true;
    for (auto element : elements) {
      os << (first ? "\n    " : ",\n    ");
      first = false;
      llvm::json::OStream json(os);
      json.object([&] { write(element, json); });
      json.flush();
    }
    os << (elements.empty() ? "]" : "\n  ]") << (last ? "\n" : ",\n");
  };
  auto value = [&](StringRef name, llvm::json::Value found) {
    member(name, [&](llvm::json::OStream &json) { json.value(found); });
  };

  os << "{\n";
  value("version", getVersion(abi));
  value("kernel", abi.getKernel());
  value("target", abi.getTarget());
  member("schedule", [&](llvm::json::OStream &json) {
    // For readers only: hosts ignore it.
    json.object([&] { ScheduleFields::from(abi.getPlan()).writeJSON(json); });
  });
  // For readers, and for the option 'schedule'. Hosts ignore it, but need not
  // support escapes in strings.
  member("plans", [&](llvm::json::OStream &json) {
    std::string plans;
    llvm::raw_string_ostream(plans) << getPlans(abi);
    llvm::replace(plans, '"', '\'');
    json.value(plans);
  });
  list("tensors", abi.getTensors(),
       [](Attribute attr, llvm::json::OStream &json) {
         writeTensor(cast<TensorAttr>(attr), json);
       });
  list("parameters", abi.getParameters(),
       [](Attribute attr, llvm::json::OStream &json) {
         cast<ParameterAttrInterface>(attr).writeJSON(json);
       });
  value("grid", getGrid(abi));
  value("block", getBlock(abi));
  value("cluster",
        llvm::json::Array{static_cast<int64_t>(abi.getCluster()), 1, 1});
  if (auto persistent = abi.getPersistent())
    value("persistent", static_cast<int64_t>(*persistent));
  value("shared_memory", static_cast<int64_t>(abi.getSharedMemory()));
  auto helpers = [&](StringRef name, ArrayRef<AbiOp> kernels) {
    if (!kernels.empty())
      list(name, kernels, writeHelperKernel);
  };
  helpers("prologue", getPrologueKernels(abi));
  helpers("epilogue", getEpilogueKernels(abi));
  if (abi.getOverlapped())
    value("overlapped", 1);
  if (auto generator = abi.getGenerator())
    value("generator", static_cast<int64_t>(*generator));
  if (ArrayAttr contents = abi.getContentsAttr())
    list("contents", contents, [](Attribute attr, llvm::json::OStream &json) {
      cast<ContentsAttr>(attr).writeJSON(json);
    });
  list(
      "constraints",
      abi.getConstraints().value_or(ArrayAttr::get(abi.getContext(), {})),
      [](Attribute attr, llvm::json::OStream &json) {
        cast<ConstraintAttrInterface>(attr).writeJSON(json);
      },
      /*last=*/true);
  os << "}\n";
  return success();
}

static LogicalResult translateToMetadata(Operation *op, llvm::raw_ostream &os) {
  SmallVector<AbiOp> found = getEntryKernels(op);
  if (found.size() != 1)
    return op->emitError() << "expected one kernel with 'launch.abi', found "
                           << found.size();
  return writeMetadata(found.front(), os);
}

void fovea::registerMetadataTranslation(
    void (*registerDialects)(DialectRegistry &)) {
  registerTranslation("launch-abi-to-metadata",
                      "Launch metadata of the kernel in a module",
                      translateToMetadata, registerDialects);
}
