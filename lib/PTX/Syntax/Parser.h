//===- Parser.h - Parses PTX into Syntax ------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_SYNTAX_PARSER_H
#define FOVEA_LIB_PTX_SYNTAX_PARSER_H

#include "Syntax/Lexer.h"
#include "Syntax/Syntax.h"

namespace fovea::ptx {

/// A recursive-descent parser. A function returns false after reporting an
/// error, which ends parsing.
class Parser {
public:
  explicit Parser(Syntax &syntax) : syntax(syntax), lexer(syntax.text) {
    advance();
    advance();
  }
  bool parseModule();
  std::vector<Diagnostic> diagnostics;

private:
  struct Scope {
    llvm::StringMap<uint32_t> registers;
    llvm::StringMap<const Variable *> variables;
    llvm::StringMap<uint32_t> labels;
    /// Instructions with an operand that may be a label of this scope.
    std::vector<uint32_t> pending;
  };

  // Tokens.
  void advance() {
    token = ahead;
    ahead = lexer.next();
  }
  bool fail(Location loc, const llvm::Twine &message,
            llvm::StringRef kind = "syntax");
  bool expected(llvm::StringRef what);
  bool expect(char c);
  bool take(char c);
  bool takeWord(llvm::StringRef word);
  bool parseInteger(uint64_t &value, llvm::StringRef what);
  std::string describeToken() const;

  // Directives.
  bool parseTopLevel();
  bool parseVersion();
  bool parseTarget();
  bool parseFile();
  bool parseLoc();
  bool skipSection();
  bool skipDeviceFunction();
  bool parseFunction(bool entry);
  bool parseParameter(Function &function);
  bool parsePerformance(Function &function);
  bool parseTriple(std::array<uint32_t, 3> &values);
  bool parseVariables(Space space, bool external);
  bool parseVariableType(Type &type, unsigned &vector, uint64_t &alignment);
  bool parseExtents(uint64_t &count, bool &open);
  bool parseInitial(Variable &variable, Type element, uint64_t &position);
  bool putInitial(Variable &variable, Type element, uint64_t &position);
  bool placeVariable(Variable variable);

  // Statements.
  bool parseBlock();
  bool parseStatement();
  bool parseRegisters();
  bool declare(llvm::StringRef name, Type type, Location loc);
  bool parseInstruction();
  bool parseGuard(Instruction &instruction);
  bool parseOperand(Operand &operand);
  bool parseSingle(Operand &operand);
  bool parseNumber(Operand &operand);
  bool parseWord(Operand &operand);
  bool parseList(Operand &operand, char close);
  bool parseAddress(Operand &operand);
  const uint32_t *findRegister(llvm::StringRef name) const;
  const Variable *findVariable(llvm::StringRef name) const;
  bool closeScope();
  bool resolveLabels(Operand &operand, Scope &scope, bool last,
                     bool &unresolved);

  /// Counts the nesting depth of an operand or an initial value.
  struct NestingGuard {
    explicit NestingGuard(unsigned &depth) : depth(depth) { ++depth; }
    ~NestingGuard() { --depth; }
    unsigned &depth;
  };

  Syntax &syntax;
  Lexer lexer;
  unsigned nesting = 0;
  Token token, ahead;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  std::vector<std::string> files;
  /// The file number of each source except the first.
  std::vector<uint64_t> sourceFiles;
  uint32_t source = 0;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_SYNTAX_PARSER_H
