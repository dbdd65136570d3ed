//===- Build.cpp - Builds executable instructions from syntax -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes parsed functions: implements Build, the interface between instruction
// builders and syntax, computes reconvergence points, and fills Code. Runs
// once, when a module is parsed.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace fovea::ptx;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

uint32_t fovea::ptx::getSlotBytes(Type type) {
  // A predicate is one word; other types have at least 16 bits per lane.
  return type.kind == Type::Pred ? 64 : 32 * std::max(2u, type.getBytes());
}

uint32_t fovea::ptx::getRegisterOffset(const Code &code, uint32_t index) {
  return code.slots.front()[index].offset;
}

//===----------------------------------------------------------------------===//
// Build: modifiers
//===----------------------------------------------------------------------===//

Build::Build(const Syntax &syntax, const Function &function, Code &code,
             const Instruction &instruction, Inst &inst,
             std::vector<Diagnostic> &diagnostics)
    : syntax(syntax), function(function), code(code), instruction(instruction),
      inst(inst), diagnostics(diagnostics) {
  name = instruction.opcode.str();
  taken.resize(instruction.modifiers.size());
}

void Build::error(Location loc, const Twine &message, StringRef kind) {
  if (bad)
    return;
  bad = true;
  Diagnostic diagnostic;
  diagnostic.kind = kind.str();
  diagnostic.message = message.str();
  diagnostic.file = syntax.file;
  diagnostic.loc = loc;
  diagnostic.source = syntax.sources[instruction.source];
  diagnostics.push_back(std::move(diagnostic));
}

void Build::error(const Twine &message, StringRef kind) {
  error(instruction.loc, message, kind);
}

void Build::unsupportedType(Type type) {
  if (type)
    error("type ." + type.str() + " of '" + name + "' is not modelled");
}

bool Build::hasModifier(StringRef modifier) const {
  return llvm::is_contained(instruction.modifiers, modifier);
}

bool Build::hasFloatType() const {
  return llvm::any_of(instruction.modifiers, [](StringRef modifier) {
    Type type = parseType(modifier);
    return type.kind == Type::Float || type.kind == Type::BFloat;
  });
}

StringRef Build::nextModifier() const {
  for (auto [done, modifier] : llvm::zip(taken, instruction.modifiers))
    if (!done)
      return modifier;
  return "";
}

bool Build::take(StringRef modifier) {
  for (auto [n, found] : llvm::enumerate(instruction.modifiers))
    if (found == modifier && !taken[n])
      return taken[n] = true;
  return false;
}

StringRef Build::takeOneOf(ArrayRef<StringRef> modifiers) {
  for (auto [n, found] : llvm::enumerate(instruction.modifiers))
    if (!taken[n] && llvm::is_contained(modifiers, found)) {
      taken[n] = true;
      return found;
    }
  return "";
}

StringRef Build::needOneOf(ArrayRef<StringRef> modifiers) {
  StringRef found = takeOneOf(modifiers);
  if (found.empty())
    error("'" + name + "' needs one of ." + llvm::join(modifiers, ", ."),
          "syntax");
  return found;
}

void Build::need(StringRef modifier) {
  if (!take(modifier))
    error("'" + name + "' without ." + modifier + " is not modelled");
}

bool Build::needFeature(Feature feature, const Twine &what) {
  if (hasFeature(syntax.target, feature))
    return true;
  error(what + " needs target " + describeTargets(feature) + ", found " +
        syntax.target);
  return false;
}

Type Build::takeType() {
  for (auto [n, found] : llvm::enumerate(instruction.modifiers))
    if (!taken[n])
      if (Type type = parseType(found)) {
        taken[n] = true;
        return type;
      }
  StringRef rest = nextModifier();
  if (rest.empty())
    error("'" + name + "' needs a type", "syntax");
  else
    error("modifier ." + rest + " of '" + name + "' is not modelled");
  return {};
}

void Build::finish() {
  if (StringRef rest = nextModifier(); !rest.empty())
    error("modifier ." + rest + " of '" + name + "' is not modelled");
  if (!bad && !inst.run)
    error("this form of '" + name + "' is not modelled");
  inst.numOps = slots.size();
  inst.ops = code.slots.emplace_back(std::move(slots)).data();
}

//===----------------------------------------------------------------------===//
// Build: operands
//===----------------------------------------------------------------------===//

const Operand &Build::operand(unsigned n) {
  static const Operand none;
  if (n < instruction.operands.size())
    return instruction.operands[n];
  error("'" + name + "' needs " + Twine(n + 1) + " operands, found " +
            Twine(instruction.operands.size()),
        "syntax");
  return none;
}

bool Build::expectOperands(unsigned least, unsigned most) {
  if (count() >= least && count() <= most)
    return true;
  error("'" + name + "' needs " + Twine(least) +
            (least == most ? "" : " to " + std::to_string(most)) +
            " operands, found " + Twine(count()),
        "syntax");
  return false;
}

unsigned Build::widthOf(const Operand &operand) const {
  return operand.kind == Operand::Reg
             ? function.registers[operand.index].type.bits
             : 0;
}

/// Checks a register's type: its width must match the instruction's type;
/// untyped bits match any type, otherwise both must be integers or the same
/// float type.
bool Build::checkRegister(const Operand &operand, Type type, bool widening,
                          bool result) {
  const Register &reg = function.registers[operand.index];
  bool predicate = reg.type.kind == Type::Pred;
  bool fits = predicate == (type.kind == Type::Pred);
  if (fits && !predicate) {
    fits =
        reg.type.bits == type.bits || (widening && reg.type.bits > type.bits);
    bool bits = reg.type.kind == Type::Bits || type.kind == Type::Bits ||
                (type.packed || reg.type.packed);
    bool integers = reg.type.isInteger() && type.isInteger();
    fits = fits && (bits || integers || reg.type.kind == type.kind ||
                    type.kind == Type::BFloat);
  }
  if (!fits)
    error(operand.loc,
          "register '" + reg.name + "' of type ." + reg.type.str() +
              " can't be " + (result ? "a result" : "an operand") +
              " of type ." + type.str() + " for '" + name + "'",
          "type");
  return fits;
}

/// Adds a constant, replicated for 32 lanes.
static Slot addConstant(Code &code, uint64_t value, unsigned bytes) {
  Slot slot{uint32_t(code.constants.size()), true};
  code.constants.resize(code.constants.size() + 32 * bytes);
  uint8_t *at = code.constants.data() + slot.offset;
  for (int l = 0; l < 32; ++l)
    memcpy(at + l * bytes, &value, std::min(bytes, 8u));
  return slot;
}

void Build::immediate(uint64_t value, Type type) {
  slots.push_back(addConstant(code, value, getSlotBytes(type) / 32));
}

Slot Build::preset(const Variable *variable, StringRef special, int64_t addend,
                   Type type, Location loc) {
  for (const Preset &known : code.presets)
    if (known.variable == variable && known.special == special &&
        known.addend == addend && known.type.bits == type.bits)
      return {known.offset, false};
  Preset preset{code.registerBytes, type, variable, special, addend};
  code.registerBytes += getSlotBytes(type);
  code.presets.push_back(preset);
  return {preset.offset, false};
}

static bool isKnownSpecial(StringRef name) {
  for (StringRef triple :
       {"%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid",
        "%cluster_ctaid", "%cluster_nctaid"}) {
    StringRef rest = name;
    if (rest.consume_front(triple) &&
        (rest == ".x" || rest == ".y" || rest == ".z"))
      return true;
  }
  return llvm::StringSwitch<bool>(name)
      .Cases({"%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid"},
             true)
      .Cases({"%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster"},
             true)
      .Cases({"%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt",
              "%lanemask_ge"},
             true)
      .Cases({"%dynamic_smem_size", "%total_smem_size", "WARP_SZ"}, true)
      .Default(false);
}

Slot Build::place(const Operand &operand, Type type, bool widening,
                  bool result) {
  switch (operand.kind) {
  case Operand::Reg:
    if (!checkRegister(operand, type, widening, result))
      return {};
    return {getRegisterOffset(code, operand.index), false};
  case Operand::Integer: {
    if (result)
      break;
    if (type.kind == Type::Pred)
      break;
    if ((type.kind == Type::Float || type.kind == Type::BFloat) &&
        !type.packed) {
      error(operand.loc,
            "'" + name + "' needs a float literal for type ." + type.str() +
                ", found an integer",
            "type");
      return {};
    }
    return addConstant(code, operand.integer, getSlotBytes(type) / 32);
  }
  case Operand::Real: {
    if (result)
      break;
    if (type.isInteger()) {
      error(operand.loc,
            "'" + name + "' needs an integer for type ." + type.str() +
                ", found a float",
            "type");
      return {};
    }
    uint64_t value = operand.integer;
    if (type.bits == 32 && operand.bits == 64) {
      double wide;
      memcpy(&wide, &value, 8);
      float narrow = wide;
      uint32_t bits;
      memcpy(&bits, &narrow, 4);
      value = bits;
    } else if (type.bits == 64 && operand.bits == 32) {
      uint32_t bits = value;
      float narrow;
      memcpy(&narrow, &bits, 4);
      double wide = narrow;
      memcpy(&value, &wide, 8);
    } else if (type.bits != operand.bits) {
      break;
    }
    return addConstant(code, value, getSlotBytes(type) / 32);
  }
  case Operand::Var:
    if (result || type.bits < 32 || type.bits > 64)
      break;
    return preset(operand.variable, "", operand.integer, type, operand.loc);
  case Operand::Special:
  case Operand::Name:
    if (!isKnownSpecial(operand.name)) {
      error(operand.loc, "unknown register '" + operand.name + "'");
      return {};
    }
    if (result || type.bits < 16 || type.bits > 64)
      break;
    return preset(nullptr, operand.name, 0, type, operand.loc);
  default:
    break;
  }
  error(operand.loc,
        Twine("this form of operand can't be ") +
            (result ? "a result" : "an operand") + " of type ." + type.str() +
            " for '" + name + "'",
        "type");
  return {};
}

void Build::write(const Operand &operand, Type type, bool widening) {
  if (operand.negated)
    error(operand.loc, "'!' is allowed before source predicates only", "type");
  if (operand.kind == Operand::Sink) {
    // `_` gets a register that is never read.
    slots.push_back({code.registerBytes, false});
    code.registerBytes += getSlotBytes(type);
  } else {
    slots.push_back(place(operand, type, widening, true));
  }
  if (inst.numResults + 1u == slots.size())
    ++inst.numResults;
}

void Build::read(const Operand &operand, Type type, bool widening) {
  if (operand.negated)
    error(operand.loc, "'!' is allowed before predicates only", "type");
  slots.push_back(place(operand, type, widening, false));
}

void Build::readPredicate(const Operand &operand) {
  if (operand.negated)
    error(operand.loc,
          "'!' before this predicate of '" + name + "' is not modelled",
          "unsupported");
  readNegatable(operand);
}

bool Build::readNegatable(const Operand &operand) {
  slots.push_back(place(operand, {Type::Pred, 1}, false, false));
  return operand.negated;
}

void Build::writePredicate(const Operand &operand) {
  write(operand, {Type::Pred, 1});
}

int64_t Build::constant(const Operand &operand) {
  if (operand.kind != Operand::Integer)
    error(operand.loc, "'" + name + "' needs a number here");
  return operand.integer;
}

int64_t Build::address(const Operand &operand) {
  if (operand.kind != Operand::Address) {
    error(operand.loc, "'" + name + "' needs an address, such as [%rd1+8]");
    slots.emplace_back();
    return 0;
  }
  const Operand &base = operand.elements.front();
  if (base.kind == Operand::Integer) {
    immediate(0, {Type::Bits, 64});
    return operand.integer + base.integer;
  }
  // A 32-bit base is read as such; the flag tells the handler.
  if (widthOf(base) == 32) {
    inst.flags |= 1u << 31;
    read(base, {Type::Bits, 32});
  } else {
    read(base, {Type::Bits, 64});
  }
  return operand.integer;
}

//===----------------------------------------------------------------------===//
// Joins: immediate post-dominators
//===----------------------------------------------------------------------===//

static Step runExit(Warp &warp, const Inst &inst, uint32_t mask) {
  warp.exitLanes(mask);
  if (!warp.cta->live)
    return warp.checkEnd(inst);
  return Step::Jump;
}

static Step runBranch(Warp &warp, const Inst &inst, uint32_t mask) {
  return warp.branch(inst, mask, warp.fragment().mask);
}

namespace {
/// Computes where lanes reconverge after a divergent branch: immediate
/// post-dominators, by the algorithm of Cooper, Harvey and Kennedy on the
/// reversed graph of basic blocks.
class Joins {
public:
  explicit Joins(Code &code) : code(code) {
    findBlocks();
    order();
    solve();
  }

  void assign() {
    for (uint32_t b = 0; b < starts.size(); ++b) {
      Inst &last = code.insts[end(b) - 1];
      if (last.target != kNoTarget && dominators[b] < starts.size())
        last.join = starts[dominators[b]];
    }
  }

private:
  uint32_t end(uint32_t block) const {
    return block + 1 < starts.size() ? starts[block + 1] : code.insts.size();
  }

  void findBlocks() {
    std::vector<bool> leader(code.insts.size() + 1);
    leader[0] = true;
    for (const Inst &inst : code.insts)
      if (inst.target != kNoTarget) {
        leader[inst.target] = true;
        leader[inst.index + 1] = true;
      } else if (inst.run == runExit) {
        leader[inst.index + 1] = true;
      }
    for (uint32_t n = 0; n < code.insts.size(); ++n) {
      if (leader[n])
        starts.push_back(n);
      blockOf.push_back(starts.size() - 1);
    }
    uint32_t exit = starts.size();
    successors.resize(exit);
    predecessors.resize(exit + 1);
    for (uint32_t b = 0; b < exit; ++b) {
      const Inst &last = code.insts[end(b) - 1];
      bool falls = true;
      if (last.target != kNoTarget) {
        successors[b].push_back(blockOf[last.target]);
        falls = last.guard >= 0;
      } else if (last.run == runExit) {
        successors[b].push_back(exit);
        falls = last.guard >= 0;
      }
      if (falls)
        successors[b].push_back(b + 1 < exit ? b + 1 : exit);
      for (uint32_t s : successors[b])
        predecessors[s].push_back(b);
    }
  }

  /// Computes the post-order of the reversed graph from the exit.
  void order() {
    uint32_t exit = starts.size();
    numbers.assign(exit + 1, kNoTarget);
    std::vector<bool> seen(exit + 1);
    std::vector<std::pair<uint32_t, size_t>> stack{{exit, 0}};
    seen[exit] = true;
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      if (next < predecessors[block].size()) {
        uint32_t p = predecessors[block][next++];
        if (!seen[p]) {
          seen[p] = true;
          stack.push_back({p, 0});
        }
      } else {
        numbers[block] = sequence.size();
        sequence.push_back(block);
        stack.pop_back();
      }
    }
  }

  uint32_t meet(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (numbers[a] < numbers[b])
        a = dominators[a];
      while (numbers[b] < numbers[a])
        b = dominators[b];
    }
    return a;
  }

  void solve() {
    uint32_t exit = starts.size();
    dominators.assign(exit + 1, kNoTarget);
    dominators[exit] = exit;
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t block : llvm::reverse(sequence)) {
        if (block == exit)
          continue;
        uint32_t found = kNoTarget;
        for (uint32_t s : successors[block])
          if (dominators[s] != kNoTarget)
            found = found == kNoTarget ? s : meet(s, found);
        if (dominators[block] != found) {
          dominators[block] = found;
          changed = true;
        }
      }
    }
  }

  Code &code;
  std::vector<uint32_t> starts, blockOf, numbers, sequence, dominators;
  std::vector<llvm::SmallVector<uint32_t, 2>> successors, predecessors;
};
} // namespace

static void buildExit(Build &b) {
  b.expectOperands(0, 0);
  b.take("uni");
  b.set(runExit);
}

static void buildBranch(Build &b) {
  // .uni is checked: divergent lanes are an error.
  b.inst.imm = b.take("uni");
  b.expectOperands(1, 1);
  const Operand &label = b.operand(0);
  if (label.kind != Operand::Label)
    b.error(label.loc, "expected a label, found '" + label.name + "'");
  b.inst.target = label.index;
  b.set(runBranch);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static ArrayRef<Entry> getBranchEntries() {
  static const Entry entries[] = {
      {"bra", buildBranch}, {"ret", buildExit}, {"exit", buildExit}};
  return entries;
}

static const llvm::StringMap<void (*)(Build &)> &getTable() {
  static const llvm::StringMap<void (*)(Build &)> table = [] {
    llvm::StringMap<void (*)(Build &)> result;
    for (ArrayRef<Entry> entries :
         {getBranchEntries(), getIntegerEntries(), getCompareEntries(),
          getFloatEntries(), getMoveEntries(), getConvertEntries(),
          getControlEntries(), getWarpEntries(), getMemoryEntries(),
          getAtomicEntries(), getBarrierEntries(), getMbarrierEntries(),
          getCopyEntries(), getMatrixEntries(), getWgmmaEntries(),
          getTensorMemoryEntries()})
      for (const Entry &entry : entries)
        result[entry.name] = entry.build;
    return result;
  }();
  return table;
}

static void decodeInstruction(const Syntax &syntax, const Function &function,
                              Code &code, uint32_t index,
                              std::vector<Diagnostic> &diagnostics) {
  const Instruction &instruction = function.body[index];
  Inst &inst = code.insts.emplace_back();
  inst.index = index;
  if (instruction.guard >= 0) {
    inst.guard = getRegisterOffset(code, instruction.guard);
    inst.guardNegated = instruction.guardNegated;
  }
  Build build(syntax, function, code, instruction, inst, diagnostics);
  auto found = getTable().find(instruction.opcode);
  if (found == getTable().end()) {
    build.error("instruction '" + instruction.opcode + "' is not modelled");
    return;
  }
  found->second(build);
  code.holdsRegisters |= inst.holdsRegisters;
  build.finish();
}

bool fovea::ptx::decode(const Syntax &syntax, const Function &function,
                        Code &code, std::vector<Diagnostic> &diagnostics) {
  static constexpr size_t kMostErrors = 20;
  code.function = &function;
  std::vector<Slot> &registers = code.slots.emplace_back();
  for (const Register &reg : function.registers) {
    registers.push_back({code.registerBytes, false});
    code.registerBytes += getSlotBytes(reg.type);
  }
  code.insts.reserve(function.body.size() + 1);
  for (uint32_t n = 0; n < function.body.size(); ++n) {
    decodeInstruction(syntax, function, code, n, diagnostics);
    if (diagnostics.size() >= kMostErrors)
      return false;
  }
  // A body may end without `ret`, and branches may target its end.
  Inst &last = code.insts.emplace_back();
  last.index = function.body.size();
  last.run = runExit;
  if (!diagnostics.empty())
    return false;
  Joins(code).assign();
  return true;
}
