//===- Program.h - Decoded kernels ------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decoded form of kernels, which warps execute, and the interface that
// instruction builders use to create it from syntax.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_SYNTAX_PROGRAM_H
#define FOVEA_LIB_PTX_SYNTAX_PROGRAM_H

#include "Syntax/Syntax.h"
#include "Syntax/Targets.h"

#include <memory>

namespace fovea::ptx {

struct Warp;
struct Inst;

/// The outcome of an instruction for the warp.
enum class Step : uint8_t {
  Next,  // the next instruction
  Jump,  // the handler set the program counter or the fragments
  Wait,  // blocked by Fragment::wait; then the same instruction again
  Yield, // the next instruction, after other warps
  Fail,  // an error was reported
};

using Handler = Step (*)(Warp &, const Inst &, uint32_t mask);

/// The values of 32 lanes, in the registers of a warp or among the constants. A
/// predicate is one word with a bit per lane.
struct Slot {
  uint32_t offset = 0;
  bool constant = false;
};

inline constexpr uint32_t kNoTarget = ~0u;

struct Inst {
  Handler run = nullptr;
  const Slot *ops = nullptr;
  /// Offset of the guard's register, or -1.
  int32_t guard = -1;
  bool guardNegated = false;
  /// wgmma: the handler itself tracks the use of its registers.
  bool holdsRegisters = false;
  /// The first `numResults` of `numOps` operands are written.
  uint16_t numResults = 0, numOps = 0;
  /// Index in Code::insts and in Function::body.
  uint32_t index = 0;
  /// Branches: the target, and the point of reconvergence.
  uint32_t target = kNoTarget, join = kNoTarget;
  /// Additional operands of the handler.
  int64_t imm = 0;
  uint32_t flags = 0;
  const void *data = nullptr;
};

/// A register that is initialised before the first instruction.
struct Preset {
  uint32_t offset;
  Type type;
  /// The address of a variable plus `addend`, or a special register.
  const Variable *variable;
  llvm::StringRef special;
  int64_t addend;
};

struct Code {
  const Function *function = nullptr;
  std::vector<Inst> insts;
  std::deque<std::vector<Slot>> slots;
  /// Values of 32 lanes, at multiples of 64 bytes.
  std::vector<uint8_t> constants;
  uint32_t registerBytes = 0;
  std::vector<Preset> presets;
  std::vector<std::shared_ptr<void>> data;
  /// Some instruction uses registers after it was issued.
  bool holdsRegisters = false;
  /// Some instruction lets the next grid start before this one has ended.
  bool launchesDependents = false;
};

struct Program {
  Syntax syntax;
  std::deque<Code> codes;

  const Code *lookup(llvm::StringRef name) const {
    for (const Code &code : codes)
      if (code.function->kernel.name == name)
        return &code;
    return nullptr;
  }
};

/// Decodes a function. Returns false, with diagnostics, if something is not
/// modelled.
bool decode(const Syntax &syntax, const Function &function, Code &code,
            std::vector<Diagnostic> &diagnostics);

//===----------------------------------------------------------------------===//
// The table of instructions
//===----------------------------------------------------------------------===//

/// Builds one instruction. Modifiers and operands that no call takes are
/// errors. After the first error, the remaining calls have no effect.
class Build {
public:
  Build(const Syntax &syntax, const Function &function, Code &code,
        const Instruction &instruction, Inst &inst,
        std::vector<Diagnostic> &diagnostics);

  // Modifiers, in any order.
  bool take(llvm::StringRef modifier);
  /// Takes the first of the modifiers that is present, or returns the empty
  /// string.
  llvm::StringRef takeOneOf(llvm::ArrayRef<llvm::StringRef> modifiers);
  /// takeOneOf that reports an error if none is present.
  llvm::StringRef needOneOf(llvm::ArrayRef<llvm::StringRef> modifiers);
  void need(llvm::StringRef modifier);
  /// Takes the first modifier that names a type; reports an error if there is
  /// none.
  Type takeType();
  bool hasModifier(llvm::StringRef modifier) const;
  /// True if a modifier is a float type.
  bool hasFloatType() const;
  llvm::StringRef nextModifier() const;
  /// Reports an error if the module's target lacks the feature of `what`, such
  /// as "'tcgen05'".
  bool needFeature(Feature feature, const llvm::Twine &what);

  // Operands. Each one is checked against the type and appended to the slots.
  unsigned count() const { return instruction.operands.size(); }
  const Operand &operand(unsigned n);
  bool expectOperands(unsigned least, unsigned most);
  void write(const Operand &operand, Type type, bool widening = false);
  void read(const Operand &operand, Type type, bool widening = false);
  void write(unsigned n, Type type) { write(operand(n), type); }
  void read(unsigned n, Type type) { read(operand(n), type); }
  void readPredicate(const Operand &operand);
  /// A predicate that may be negated; returns true for `!p`.
  bool readNegatable(const Operand &operand);
  void writePredicate(const Operand &operand);
  /// An operand that must be an integer constant.
  int64_t constant(const Operand &operand);
  bool isConstant(const Operand &operand) const {
    return operand.kind == Operand::Integer;
  }
  /// `[base + offset]`: appends the base (as 64 bits) and returns the offset.
  int64_t address(const Operand &operand);
  void immediate(uint64_t value, Type type);
  unsigned widthOf(const Operand &operand) const;

  // Results.
  void set(Handler handler) { inst.run = handler; }
  template <class T>
  T *attach(T value) {
    auto shared = std::make_shared<T>(std::move(value));
    code.data.push_back(shared);
    inst.data = shared.get();
    return shared.get();
  }
  void error(const llvm::Twine &message, llvm::StringRef kind = "unsupported");
  void error(Location loc, const llvm::Twine &message,
             llvm::StringRef kind = "syntax");
  /// "type .f16 of 'add'".
  void unsupportedType(Type type);
  bool failed() const { return bad; }
  void finish();

  const Syntax &syntax;
  const Function &function;
  Code &code;
  const Instruction &instruction;
  Inst &inst;
  std::string name;
  std::vector<Slot> slots;

private:
  Slot place(const Operand &operand, Type type, bool widening, bool result);
  Slot preset(const Variable *variable, llvm::StringRef special, int64_t addend,
              Type type, Location loc);
  bool checkRegister(const Operand &operand, Type type, bool widening,
                     bool result);

  std::vector<Diagnostic> &diagnostics;
  llvm::SmallVector<bool, 8> taken;
  bool bad = false;
};

/// An entry of the instruction table: the name before the first dot, and the
/// builder.
struct Entry {
  llvm::StringRef name;
  void (*build)(Build &);
};

llvm::ArrayRef<Entry> getIntegerEntries();
llvm::ArrayRef<Entry> getCompareEntries();
llvm::ArrayRef<Entry> getFloatEntries();
llvm::ArrayRef<Entry> getMoveEntries();
llvm::ArrayRef<Entry> getConvertEntries();
llvm::ArrayRef<Entry> getControlEntries();
llvm::ArrayRef<Entry> getWarpEntries();
llvm::ArrayRef<Entry> getMemoryEntries();
llvm::ArrayRef<Entry> getAtomicEntries();
llvm::ArrayRef<Entry> getBarrierEntries();
llvm::ArrayRef<Entry> getMbarrierEntries();
llvm::ArrayRef<Entry> getCopyEntries();
llvm::ArrayRef<Entry> getMatrixEntries();
llvm::ArrayRef<Entry> getWgmmaEntries();
llvm::ArrayRef<Entry> getTensorMemoryEntries();

/// cp.async.bulk and cp.reduce.async.bulk.
void buildBulk(Build &build);
/// tcgen05.mma and tcgen05.cp.
void buildTensorMultiply(Build &build);
void buildTensorCopy(Build &build);

/// The float forms of instructions that also have integer forms.
void buildFloat(Build &build);

/// Offset of a register in the register file, by index.
uint32_t getRegisterOffset(const Code &code, uint32_t index);
/// Size of a slot: 32 lanes of the type.
uint32_t getSlotBytes(Type type);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_SYNTAX_PROGRAM_H
