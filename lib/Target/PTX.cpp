//===- PTX.cpp - The NVVM dialect to LLVM IR and PTX ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates a lowered module to LLVM IR, runs a small set of optimisations and
// the workarounds of PreparePTX.h, and emits PTX with the NVPTX backend.
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/PTX.h"

#include "PreparePTX.h"
#include "Translation.h"

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;
using namespace fovea;

static constexpr StringLiteral kTriple = "nvptx64-nvidia-cuda";

// Size and alignment of a CUtensorMap.
static constexpr uint64_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

/// Tensor maps are passed by value and read in parameter memory: TMA does not
/// accept a copy. The attributes are set here because the verifier of
/// `gpu.func` does not accept them on a kernel.
static void declareTensorMaps(launch::AbiOp abi, llvm::Function &kernel) {
  llvm::LLVMContext &context = kernel.getContext();
  llvm::Type *map =
      llvm::ArrayType::get(llvm::Type::getInt8Ty(context), kTensorMapBytes);
  for (auto [index, parameter] : llvm::enumerate(abi.getParameters())) {
    if (!isa<launch::TensorMapParameterAttr>(parameter))
      continue;
    llvm::AttrBuilder attributes(context);
    attributes.addByValAttr(map);
    attributes.addAlignmentAttr(llvm::Align(kTensorMapAlignment));
    attributes.addAttribute("nvvm.grid_constant");
    kernel.addParamAttrs(index, attributes);
  }
}

namespace {
/// `launch.abi` is for the host. In the kernel's code it only determines how
/// parameters are passed.
struct AbiTranslation : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult
  convertOperation(Operation *op, llvm::IRBuilderBase &,
                   LLVM::ModuleTranslation &translation) const override {
    auto abi = dyn_cast<launch::AbiOp>(op);
    if (!abi)
      return failure();
    // Signatures are translated before other ops.
    llvm::Function *kernel = translation.lookupFunction(abi.getKernel());
    if (kernel && kernel->arg_size() == abi.getParameters().size())
      declareTensorMaps(abi, *kernel);
    return success();
  }
};
} // namespace

void fovea::registerTranslations(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, launch::LaunchDialect *dialect) {
    dialect->addInterfaces<AbiTranslation>();
  });
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const TargetInfo &target, StringRef ptxFeature) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  llvm::Triple triple(kTriple);
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.name, ptxFeature, llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const TargetInfo &target) {
  return createTargetMachine(target, target.ptxFeature);
}

/// Upstream's translation prints the whole module if an unknown op is left.
static LogicalResult checkIsLowered(gpu::GPUModuleOp module) {
  WalkResult walk =
      module.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
        if (op == module ||
            isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect,
                            launch::LaunchDialect>(op->getDialect()))
          return WalkResult::advance();
        return op->emitOpError(
            "is not allowed here: expected 'convert-gpu-to-nvvm' (in the "
            "pipeline 'fovea-warp-to-nvvm') to have run before PTX is emitted");
      });
  return failure(walk.wasInterrupted());
}

std::unique_ptr<llvm::Module>
fovea::translateToLLVMIR(gpu::GPUModuleOp module, const TargetInfo &target,
                         llvm::LLVMContext &context) {
  if (failed(checkIsLowered(module)))
    return nullptr;
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, module.getName());
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  if (!result)
    return nullptr;
  if (!machine) {
    module.emitError("this build of LLVM has no NVPTX target");
    return nullptr;
  }
  result->setTargetTriple(llvm::Triple(kTriple));
  result->setDataLayout(machine->createDataLayout());
  // Subnormal scores and probabilities do not matter; preserving them would
  // cost one instruction per exponential.
  for (llvm::Function &function : *result)
    if (!function.isDeclaration())
      function.addFnAttr("denormal-fp-math-f32", "preserve-sign");
  return result;
}

static constexpr StringLiteral kKeepConjunctions = "keep-conjunctions";

ArrayRef<llvm::StringLiteral> fovea::getMaskOptimizations() {
  static constexpr StringLiteral names[] = {kKeepConjunctions};
  return names;
}

void fovea::optimizeLLVMIR(llvm::Module &module, const TargetInfo &target,
                           ArrayRef<std::string> without) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  llvm::PassBuilder builder(machine.get());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  // Kernels arrive with optimised loops. The remaining task is to fold, not to
  // hoist: O3 would move all coordinates of a mask and all addresses out of the
  // loop, where they occupy registers that the tiles need. ptxas hoists within
  // its register budget. Branches do not become selects, either: a vector
  // instruction that looks cheap is one instruction per element of the thread.
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(
      passes,
      "function(sroa,early-cse,"
      "instcombine<no-verify-fixpoint>,simplifycfg<no-speculate-blocks>,"
      "early-cse,"
      "instcombine<no-verify-fixpoint>,simplifycfg<no-speculate-blocks>,"
      "early-cse,dce)"));
  passes.run(module, modules);
  if (!llvm::is_contained(without, kKeepConjunctions))
    keepConjunctions(module);
  hideNegations(module);
  widenComparisons(module);
  keepSubnormalHalves(module);
  separateConstants(module);
}

/// Collects errors of the backend. Without a handler LLVM prints them and exits
/// the process.
static void collectErrors(const llvm::DiagnosticInfo *info, void *errors) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  static_cast<std::vector<std::string> *>(errors)->push_back(text);
}

/// The sum of the depths of all integer ops in their dependence chains.
static uint64_t sumOfDepths(const llvm::Function &function) {
  llvm::DenseMap<const llvm::Value *, uint64_t> depths;
  uint64_t sum = 0;
  for (const llvm::Instruction &op : llvm::instructions(function)) {
    if (!op.getType()->isIntOrIntVectorTy() ||
        isa<llvm::PHINode, llvm::LoadInst, llvm::CallBase>(op))
      continue;
    uint64_t depth = 0;
    for (const llvm::Value *operand : op.operands())
      depth = std::max(depth, depths.lookup(operand));
    sum += depths[&op] = depth + 1;
  }
  return sum;
}

namespace {
/// Disables two passes for masks with much arithmetic. Straight-line strength
/// reduction searches, for each op, all ops with the same step and all their
/// operands: at least quadratic in the length of a chain, minutes for a few
/// dozen remainders. Reassociation treats each sum, minimum or maximum of a
/// chain as one of all operands before it. Their savings are insignificant in
/// such chains.
class WithoutLongChains : public llvm::OptPassGate {
public:
  explicit WithoutLongChains(llvm::Module &module)
      : context(module.getContext()), before(context.getOptPassGate()),
        hasLongChains(llvm::any_of(module, [](const llvm::Function &function) {
          return sumOfDepths(function) > kMostDepths;
        })) {
    context.setOptPassGate(*this);
  }
  ~WithoutLongChains() override { context.setOptPassGate(before); }

  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef name, StringRef) const override {
    return !hasLongChains || (name != "slsr" && name != "nary-reassociate");
  }

private:
  /// At this sum the passes take one or two seconds.
  static constexpr uint64_t kMostDepths = 65536;

  llvm::LLVMContext &context;
  llvm::OptPassGate &before;
  bool hasLongChains;
};
} // namespace

/// Maximum bytes of a kernel's parameters before PTX version 8.1, and from 8.1
/// on (PTX ISA, "Kernel Function Parameters").
static constexpr uint64_t kMostParameterBytes = 4352;
static constexpr uint64_t kMostParameterBytesOf81 = 32764;
static constexpr StringLiteral kPTX81 = "+ptx81";

static uint64_t getParameterBytes(const llvm::Function &kernel) {
  const llvm::DataLayout &layout = kernel.getDataLayout();
  uint64_t bytes = 0;
  for (const llvm::Argument &argument : kernel.args()) {
    llvm::Type *type = argument.hasByValAttr() ? argument.getParamByValType()
                                               : argument.getType();
    llvm::Align alignment =
        argument.getParamAlign().value_or(layout.getABITypeAlign(type));
    bytes = llvm::alignTo(bytes, alignment) + layout.getTypeAllocSize(type);
  }
  return bytes;
}

/// The PTX version to emit: the target's, or 8.1 if kernels need more parameter
/// bytes. Fails if there are too many for any version.
static FailureOr<StringRef> choosePTXVersion(const llvm::Module &module,
                                             const TargetInfo &target,
                                             Location loc) {
  uint64_t most = 0;
  for (const llvm::Function &function : module) {
    if (function.getCallingConv() != llvm::CallingConv::PTX_Kernel)
      continue;
    uint64_t bytes = getParameterBytes(function);
    if (bytes > kMostParameterBytesOf81) {
      mlir::emitError(loc, "kernel '")
          << function.getName() << "' has " << bytes
          << " bytes of parameters (addresses, sizes and strides of its "
             "tensors), but PTX allows "
          << kMostParameterBytesOf81
          << ": capture fewer tensors, or tensors of lower rank";
      return failure();
    }
    most = std::max(most, bytes);
  }
  unsigned version = 0;
  bool isOld = !target.ptxFeature.drop_front(kPTX81.find_first_of("0123456789"))
                    .getAsInteger(10, version) &&
               version < 81;
  return isOld && most > kMostParameterBytes ? StringRef(kPTX81)
                                             : target.ptxFeature;
}

FailureOr<std::string> fovea::emitPTX(llvm::Module &module,
                                      const TargetInfo &target, Location loc) {
  FailureOr<StringRef> version = choosePTXVersion(module, target, loc);
  if (failed(version))
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(target, *version);
  if (!machine) {
    mlir::emitError(loc, "this build of LLVM has no NVPTX target");
    return failure();
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile)) {
    mlir::emitError(loc, "the NVPTX target can't emit PTX");
    return failure();
  }
  std::vector<std::string> errors;
  module.getContext().setDiagnosticHandlerCallBack(collectErrors, &errors);
  {
    WithoutLongChains gate(module);
    passes.run(module);
  }
  module.getContext().setDiagnosticHandlerCallBack(nullptr);
  for (const std::string &error : errors)
    mlir::emitError(loc, "the NVPTX target can't compile the kernel: ")
        << error;
  if (!errors.empty())
    return failure();
  return std::string(text.str());
}

/// Emits PTX of the module with the only kernel.
static LogicalResult translateToPTX(Operation *op, llvm::raw_ostream &os) {
  SmallVector<launch::AbiOp> found = launch::getEntryKernels(op);
  if (found.size() != 1)
    return op->emitError() << "expected one kernel with 'launch.abi', found "
                           << found.size();
  launch::AbiOp abi = found.front();
  const TargetInfo *target =
      lookupTarget(abi.getTarget(), [&] { return abi.emitError(); });
  if (!target)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateToLLVMIR(
      abi->getParentOfType<gpu::GPUModuleOp>(), *target, context);
  if (!module)
    return failure();
  optimizeLLVMIR(*module, *target);
  FailureOr<std::string> ptx = emitPTX(*module, *target, abi.getLoc());
  if (failed(ptx))
    return failure();
  os << *ptx;
  return success();
}

void fovea::registerPTXTranslation(
    void (*registerDialects)(DialectRegistry &)) {
  registerTranslation(
      "nvvm-to-ptx", "PTX of the kernel in a module, for the target of its ABI",
      translateToPTX, [=](DialectRegistry &registry) {
        registerDialects(registry);
        registerTranslations(registry);
      });
}
