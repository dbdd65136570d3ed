//===- LaunchToLLVM.cpp - Lower launches to the runtime -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Conversion/Passes.h"

#include "fovea/Dialect/Launch/IR/LaunchCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

namespace fovea {
#define GEN_PASS_DEF_LAUNCHTOLLVM
#include "fovea/Conversion/Passes.h.inc"
} // namespace fovea

using namespace mlir;
using namespace fovea;
using namespace fovea::launch;

// Declared in fovea_embedded.h.
static constexpr StringLiteral kCall = "fovea_embedded_call",
                               kCallAsync = "fovea_embedded_call_async",
                               kCheck = "fovea_embedded_check";
static constexpr int64_t kEmbeddedVersion = 1;

//===----------------------------------------------------------------------===//
// Globals
//===----------------------------------------------------------------------===//

static LLVM::GlobalOp makeText(OpBuilder &builder, Location loc, StringRef name,
                               StringRef text, SymbolTable &symbols) {
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
  auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name,
                                       builder.getStringAttr(text));
  symbols.insert(global);
  return global;
}

/// Creates the global of a kernel, a `struct fovea_embedded`.
static LLVM::GlobalOp makeKernel(OpBuilder &builder, BinaryOp binary,
                                 SymbolTable &symbols) {
  Location loc = binary.getLoc();
  builder.setInsertionPoint(binary);
  std::string name = binary.getSymName().str();
  LLVM::GlobalOp code = makeText(builder, loc, name + "_code", binary.getCode(),
                                 symbols),
                 metadata = makeText(builder, loc, name + "_metadata",
                                     binary.getMetadata(), symbols);
  MLIRContext *context = builder.getContext();
  Type integer = builder.getI64Type(),
       pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMStructType::getLiteral(
      context, {integer, pointer, integer, pointer, integer, pointer});
  auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                                       LLVM::Linkage::Internal,
                                       name + "_kernel", Attribute());
  symbols.insert(global);

  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&global.getInitializerRegion());
  Value result = LLVM::ZeroOp::create(builder, loc, type);
  auto set = [&](int64_t member, Value value) {
    result = LLVM::InsertValueOp::create(builder, loc, result, value, member);
  };
  auto number = [&](int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, integer, value);
  };
  set(0, number(kEmbeddedVersion));
  set(1, LLVM::AddressOfOp::create(builder, loc, code));
  set(2, number(binary.getCode().size()));
  set(3, LLVM::AddressOfOp::create(builder, loc, metadata));
  set(4, number(binary.getMetadata().size()));
  LLVM::ReturnOp::create(builder, loc, result);
  return global;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

namespace {
/// The arguments of a call as 64-bit integers, in the order of
/// fovea_kernel_launch_packed.
class Words {
public:
  Words(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  void addTensor(Value memref);
  LogicalResult addScalar(CallOp call, StringRef name, Value value);

  ArrayRef<Value> get() const { return words; }

private:
  Value toInteger(OpFoldResult size);
  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  }

  OpBuilder &builder;
  Location loc;
  SmallVector<Value> words;
};
} // namespace

Value Words::toInteger(OpFoldResult size) {
  if (std::optional<int64_t> known = getConstantIntValue(size))
    return constant(*known);
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                    cast<Value>(size));
}

void Words::addTensor(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value address = toInteger(Value(
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref)));
  Value bytes = constant(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  Value offset = arith::MulIOp::create(
      builder, loc, toInteger(metadata.getConstifiedMixedOffset()), bytes);
  words.push_back(arith::AddIOp::create(builder, loc, address, offset));
  for (OpFoldResult size : metadata.getConstifiedMixedSizes())
    words.push_back(toInteger(size));
  for (OpFoldResult stride : metadata.getConstifiedMixedStrides())
    words.push_back(toInteger(stride));
}

LogicalResult Words::addScalar(CallOp call, StringRef name, Value value) {
  Type type = value.getType(), integer = builder.getI64Type();
  if (type.isF32())
    value = arith::BitcastOp::create(
        builder, loc, integer,
        arith::ExtFOp::create(builder, loc, builder.getF64Type(), value));
  else if (type.isIndex())
    value = arith::IndexCastOp::create(builder, loc, integer, value);
  else if (type.isInteger(32))
    value = arith::ExtSIOp::create(builder, loc, integer, value);
  else if (!type.isInteger(64))
    return call.emitError("scalar '")
           << name << "' must be f32, i32, i64 or index, found " << type;
  words.push_back(value);
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
struct LaunchToLLVMPass : fovea::impl::LaunchToLLVMBase<LaunchToLLVMPass> {
  using LaunchToLLVMBase::LaunchToLLVMBase;

  void runOnOperation() override;
  LogicalResult lower(CallOp call, BinaryOp binary);
  FailureOr<LLVM::LLVMFuncOp> declare(CallOp call, StringRef name,
                                      ArrayRef<Type> arguments, Type result);

  DenseMap<Operation *, LLVM::GlobalOp> kernels;
};
} // namespace

FailureOr<LLVM::LLVMFuncOp> LaunchToLLVMPass::declare(CallOp call,
                                                      StringRef name,
                                                      ArrayRef<Type> arguments,
                                                      Type result) {
  auto type = LLVM::LLVMFunctionType::get(result, arguments);
  Operation *symbol = SymbolTable::lookupSymbolIn(getOperation(), name);
  auto known = dyn_cast_or_null<LLVM::LLVMFuncOp>(symbol);
  if (symbol && (!known || known.getFunctionType() != type)) {
    InFlightDiagnostic diag = call.emitError("'")
                              << name << "' has another declaration, "
                              << "expected 'llvm.func' of " << type;
    diag.attachNote(symbol->getLoc()) << "here";
    return diag;
  }
  if (known)
    return known;
  auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
  return LLVM::LLVMFuncOp::create(builder, call.getLoc(), name, type);
}

/// Stores the words on the stack; the caller restores the stack.
static Value storeWords(OpBuilder &builder, Location loc,
                        ArrayRef<Value> words) {
  Type integer = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value count =
      LLVM::ConstantOp::create(builder, loc, integer, int64_t(words.size()));
  Value memory = LLVM::AllocaOp::create(builder, loc, pointer, integer, count);
  for (auto [index, word] : llvm::enumerate(words)) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, integer, memory,
                                      ArrayRef<LLVM::GEPArg>{int32_t(index)});
    LLVM::StoreOp::create(builder, loc, word, place);
  }
  return memory;
}

LogicalResult LaunchToLLVMPass::lower(CallOp call, BinaryOp binary) {
  OpBuilder builder(call);
  Location loc = call.getLoc();
  std::optional<Signature> signature = getSignature(binary);
  Words words(builder, loc);
  for (auto tensor : signature->tensors.getAsRange<TensorAttr>())
    words.addTensor(tensor.getAccess() == Access::Read
                        ? call.lookupInput(tensor.getName())
                        : call.lookupOutput(tensor.getName()));
  for (ScalarParameterAttr scalar : signature->scalars)
    if (failed(words.addScalar(call, scalar.getName(),
                               call.lookupInput(scalar.getName()))))
      return failure();

  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context),
       integer = builder.getI64Type(), status = builder.getI32Type();
  SmallVector<Type> types = {pointer, pointer, integer};
  if (call.getStream())
    types.insert(types.begin() + 1, pointer);
  FailureOr<LLVM::LLVMFuncOp> run =
      declare(call, call.getStream() ? kCallAsync : kCall, types, status);
  FailureOr<LLVM::LLVMFuncOp> check =
      declare(call, kCheck, status, LLVM::LLVMVoidType::get(context));
  if (failed(run) || failed(check))
    return failure();

  // Restore the stack, so that it does not grow in a loop.
  Value stack = LLVM::StackSaveOp::create(builder, loc, pointer);
  Value memory = storeWords(builder, loc, words.get());
  SmallVector<Value> operands = {
      LLVM::AddressOfOp::create(builder, loc, kernels.lookup(binary)), memory,
      LLVM::ConstantOp::create(builder, loc, integer,
                               int64_t(words.get().size()))};
  if (call.getStream())
    operands.insert(operands.begin() + 1, call.getStream());
  auto result = LLVM::CallOp::create(builder, loc, *run, operands);
  LLVM::StackRestoreOp::create(builder, loc, stack);
  LLVM::CallOp::create(builder, loc, *check, result.getResult());
  call.erase();
  ++numLaunches;
  return success();
}

/// The binary of a call, if the call can be lowered.
static FailureOr<BinaryOp> getBinary(CallOp call,
                                     SymbolTableCollection &symbols) {
  auto binary =
      symbols.lookupNearestSymbolFrom<BinaryOp>(call, call.getKernelAttr());
  if (!binary)
    return call.emitError("kernel '")
           << call.getKernel()
           << "' has no code: run 'launch-serialize-kernels' first";
  if (call.getNumResults() != 0 ||
      llvm::any_of(call.getInputs().getTypes(), llvm::IsaPred<TensorType>))
    return call.emitError("launch needs memrefs, found tensors: run "
                          "'one-shot-bufferize' first");
  return binary;
}

void LaunchToLLVMPass::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTableCollection symbolTables;
  SmallVector<std::pair<CallOp, BinaryOp>> calls;
  WalkResult walk = module.walk([&](CallOp call) {
    FailureOr<BinaryOp> binary = getBinary(call, symbolTables);
    if (failed(binary))
      return WalkResult::interrupt();
    calls.emplace_back(call, *binary);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
  OpBuilder builder(module.getContext());
  kernels.clear();
  SymbolTable symbols(module);
  auto binaries = llvm::to_vector(module.getOps<BinaryOp>());
  for (BinaryOp binary : binaries)
    kernels[binary] = makeKernel(builder, binary, symbols);
  for (auto [call, binary] : calls)
    if (failed(lower(call, binary)))
      return signalPassFailure();
  for (BinaryOp binary : binaries)
    symbols.erase(binary);
}
