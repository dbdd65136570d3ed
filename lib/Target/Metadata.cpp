//===- Metadata.cpp - Launch metadata of a kernel ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/Metadata.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

/// An affine expression as a number, a size's name or an operation on two.
static llvm::json::Value toJSON(AffineExpr expr, ArrayAttr sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return cast<StringAttr>(sizes[symbol.getPosition()]).getValue();
  auto operation = cast<AffineBinaryOpExpr>(expr);
  StringRef name;
  switch (operation.getKind()) {
  case AffineExprKind::Add:
    name = "+";
    break;
  case AffineExprKind::Mul:
    name = "*";
    break;
  case AffineExprKind::FloorDiv:
    name = "floordiv";
    break;
  case AffineExprKind::CeilDiv:
    name = "ceildiv";
    break;
  case AffineExprKind::Mod:
    name = "mod";
    break;
  default:
    llvm_unreachable("no operation on two expressions");
  }
  return llvm::json::Array{name, toJSON(operation.getLHS(), sizes),
                           toJSON(operation.getRHS(), sizes)};
}

/// The schedule as printed, field by field: people read it, hosts ignore it.
static void writeSchedule(ScheduleAttr schedule, llvm::json::OStream &json) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  static_cast<Attribute>(schedule).print(stream);
  StringRef fields = StringRef(text).split('<').second.rsplit('>').first;
  SmallVector<StringRef> parts;
  fields.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, value] = part.split('=');
    int64_t number;
    if (value.trim().getAsInteger(10, number))
      json.attribute(name.trim(), value.trim());
    else
      json.attribute(name.trim(), number);
  }
}

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

LogicalResult fovea::writeMetadata(AbiOp abi, llvm::raw_ostream &os) {
  for (auto [index, attr] : llvm::enumerate(abi.getParameters()))
    if (!cast<ParameterAttrInterface>(attr).isFinal())
      return abi.emitError() << "parameter #" << index << " of '"
                             << abi.getKernel() << "' is still " << attr
                             << "; launch metadata needs parameters that a "
                                "host can pass";

  // One line for each member and each list element: the file is read by people
  // too.
  auto member = [&](StringRef name,
                    function_ref<void(llvm::json::OStream &)> write,
                    bool last = false) {
    os << "  \"" << name << "\": ";
    llvm::json::OStream json(os);
    write(json);
    json.flush();
    os << (last ? "\n" : ",\n");
  };
  auto list = [&](StringRef name, ArrayAttr elements, auto write,
                  bool last = false) {
    os << "  \"" << name << "\": [";
    bool first = true;
    for (Attribute element : elements) {
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
  value("version", kMetadataVersion);
  value("kernel", abi.getKernel());
  value("target", abi.getTarget());
  member("schedule", [&](llvm::json::OStream &json) {
    json.object([&] { writeSchedule(abi.getSchedule(), json); });
  });
  list("tensors", abi.getTensors(),
       [](Attribute attr, llvm::json::OStream &json) {
         writeTensor(cast<TensorAttr>(attr), json);
       });
  list("parameters", abi.getParameters(),
       [](Attribute attr, llvm::json::OStream &json) {
         cast<ParameterAttrInterface>(attr).writeJSON(json);
       });
  value("grid",
        llvm::json::Array{
            toJSON(abi.getGrid().getResult(0), abi.getGridSizes()), 1, 1});
  value("block",
        llvm::json::Array{static_cast<int64_t>(abi.getThreads()), 1, 1});
  value("cluster",
        llvm::json::Array{static_cast<int64_t>(abi.getCluster()), 1, 1});
  if (auto persistent = abi.getPersistent())
    value("persistent", static_cast<int64_t>(*persistent));
  value("shared_memory", static_cast<int64_t>(abi.getSharedMemory()));
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
  SmallVector<AbiOp> found;
  op->walk([&](AbiOp abi) { found.push_back(abi); });
  if (found.size() != 1)
    return op->emitError() << "expected one kernel with 'tile.abi', found "
                           << found.size();
  return writeMetadata(found.front(), os);
}

void fovea::registerMetadataTranslation(
    void (*registerDialects)(DialectRegistry &)) {
  TranslateFromMLIRRegistration registration(
      "tile-abi-to-metadata", "Launch metadata of the kernel in a module",
      translateToMetadata,
      [=](DialectRegistry &registry) { registerDialects(registry); });
}
