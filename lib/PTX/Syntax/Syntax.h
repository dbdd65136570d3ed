//===- Syntax.h - Syntax tree of a PTX module -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parsed form of a module. Names of registers, variables and labels are
// resolved; opcodes and modifiers are still text.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_SYNTAX_SYNTAX_H
#define FOVEA_LIB_PTX_SYNTAX_SYNTAX_H

#include "fovea/PTX/Kernel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <deque>

namespace fovea::ptx {

/// A type, spelled as in the ISA without the dot.
struct Type {
  enum Class : uint8_t { None, Pred, Bits, Unsigned, Signed, Float, BFloat };
  Class kind = None;
  uint16_t bits = 0;
  /// Two elements in one register: f16x2, bf16x2, f32x2, u16x2, s16x2.
  bool packed = false;

  explicit operator bool() const { return kind != None; }
  bool operator==(const Type &o) const {
    return kind == o.kind && bits == o.bits && packed == o.packed;
  }
  unsigned getBytes() const { return bits / 8; }
  bool isInteger() const { return kind == Unsigned || kind == Signed; }
  std::string str() const;
};

/// The type with that name, or none.
Type parseType(llvm::StringRef name);

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

/// A register of a function, per thread.
struct Register {
  std::string name;
  Type type;
};

/// A variable: an array of bytes in a state space.
struct Variable {
  llvm::StringRef name;
  Space space = Space::Global;
  uint64_t bytes = 0, alignment = 1;
  /// `.extern .shared x[]`: the start of dynamic shared memory.
  bool dynamic = false, external = false;
  std::vector<uint8_t> initial;
  /// Addresses of other variables in the initial bytes.
  struct Relocation {
    uint64_t offset, addend;
    llvm::StringRef symbol;
    bool generic;
    Location loc;
  };
  std::vector<Relocation> relocations;
  Location loc;
  /// Offset in its space (shared, local, param), set by the parser.
  uint64_t offset = 0;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,      // index: register
    Special,  // name: %tid.x
    Integer,  // integer
    Real,     // integer: the bits, bits: 32 or 64; or a decimal (bits 64)
    Vector,   // elements
    Address,  // elements[0]: base, integer: offset, elements[1..]: what follows
    Var,      // variable
    Label,    // index: instruction
    Name,     // name: not resolved (yet)
    Sink,     // _
    Pair,     // elements: a|b
    Arguments // elements: (a, b)
  } kind = Sink;
  bool negated = false;  // !p
  bool negative = false; // an integer with a minus sign
  uint8_t bits = 0;
  uint32_t index = 0;
  int64_t integer = 0;
  llvm::StringRef name;
  const Variable *variable = nullptr;
  std::vector<Operand> elements;
  Location loc;
};

struct Instruction {
  llvm::StringRef opcode;
  llvm::SmallVector<llvm::StringRef, 8> modifiers;
  std::vector<Operand> operands;
  /// Register of the guard, or -1.
  int32_t guard = -1;
  bool guardNegated = false;
  Location loc;
  /// Index into Syntax::sources, 0 if there is none.
  uint32_t source = 0;
};

struct Function {
  Kernel kernel;
  bool entry = false;
  std::vector<Register> registers;
  std::deque<Variable> variables;
  std::vector<const Variable *> parameters;
  std::vector<Instruction> body;
};

/// A whole module. Names point into the text.
struct Syntax {
  std::string file, text;
  std::string target;
  unsigned major = 0, minor = 0;
  std::deque<Variable> variables;
  std::deque<Function> functions;
  std::vector<std::string> sources = {""};
  uint64_t staticSharedBytes = 0;
};

/// Parses `syntax.text` and returns the errors.
std::vector<Diagnostic> parse(Syntax &syntax);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_SYNTAX_SYNTAX_H
