//===- Statements.cpp - Parses function bodies ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses registers, labels, instructions and operands of a function body, and
// resolves names.
//
//===----------------------------------------------------------------------===//

#include "Syntax/Parser.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

// More than kernels have: a score_mod of two sines of error functions and three
// captured tensors used 66,000. The limit stops `.reg .b32 %r<4000000000>`.
static constexpr size_t kMostRegisters = 1 << 17;
static constexpr unsigned kMostScopes = 256, kMostNesting = 8;

static std::string getTooManyRegisters() {
  return ("more virtual registers than the " + Twine(kMostRegisters) +
          " that the emulator models; ptxas and the driver have no such limit")
      .str();
}

bool Parser::parseBlock() {
  while (!take('}')) {
    if (token.kind == Token::End)
      return expected("'}' at the end of the body");
    if (!parseStatement())
      return false;
  }
  return true;
}

bool Parser::parseStatement() {
  if (token.is('{')) {
    if (scopes.size() >= kMostScopes)
      return fail(token.loc, "scopes are nested too deeply");
    advance();
    scopes.emplace_back();
    return parseBlock() && closeScope();
  }
  if (take(';'))
    return true;
  if (token.kind == Token::Dotted) {
    if (takeWord(".reg"))
      return parseRegisters();
    if (token.isWord(".loc"))
      return parseLoc();
    if (token.isWord(".file"))
      return parseFile();
    for (auto [word, space] : {std::pair(".shared", Space::Shared),
                               {".local", Space::Local},
                               {".global", Space::Global},
                               {".const", Space::Const}})
      if (takeWord(word))
        return parseVariables(space, false);
    if (takeWord(".pragma")) {
      advance();
      return expect(';');
    }
    return fail(token.loc,
                "directive " + describeToken() + " is not modelled here",
                "unsupported");
  }
  if (token.kind == Token::Word && ahead.is(':')) {
    if (!scopes.back()
             .labels.try_emplace(token.text, uint32_t(function->body.size()))
             .second)
      return fail(token.loc, "label '" + token.text + "' is defined twice");
    advance();
    advance();
    return true;
  }
  return parseInstruction();
}

bool Parser::declare(StringRef name, Type type, Location loc) {
  if (function->registers.size() >= kMostRegisters)
    return fail(loc, getTooManyRegisters(), "unsupported");
  if (!scopes.back()
           .registers.try_emplace(name, uint32_t(function->registers.size()))
           .second)
    return fail(loc, "register '" + name + "' is declared twice");
  function->registers.push_back({name.str(), type});
  return true;
}

/// `.reg .b32 %r<9>, a, b;`
bool Parser::parseRegisters() {
  Location loc = token.loc;
  Type type = parseType(token.text.drop_front(token.kind == Token::Dotted));
  if (token.kind != Token::Dotted)
    return expected("a type");
  if (!type)
    return fail(loc,
                "registers of type " + describeToken() + " are not modelled",
                "unsupported");
  advance();
  do {
    loc = token.loc;
    StringRef name = token.text;
    if (token.kind != Token::Word)
      return expected("the name of a register");
    advance();
    if (!take('<')) {
      if (!declare(name, type, loc))
        return false;
      continue;
    }
    uint64_t count;
    if (!parseInteger(count, "a number of registers") || !expect('>'))
      return false;
    if (count > kMostRegisters)
      return fail(loc, getTooManyRegisters(), "unsupported");
    for (uint64_t n = 0; n < count; ++n)
      if (!declare((name + Twine(n)).str(), type, loc))
        return false;
  } while (take(','));
  return expect(';');
}

const uint32_t *Parser::findRegister(StringRef name) const {
  for (const Scope &scope : llvm::reverse(scopes)) {
    auto found = scope.registers.find(name);
    if (found != scope.registers.end())
      return &found->second;
  }
  return nullptr;
}

const Variable *Parser::findVariable(StringRef name) const {
  for (const Scope &scope : llvm::reverse(scopes)) {
    auto found = scope.variables.find(name);
    if (found != scope.variables.end())
      return found->second;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool Parser::parseGuard(Instruction &instruction) {
  if (!take('@'))
    return true;
  instruction.guardNegated = take('!');
  const uint32_t *found =
      token.kind == Token::Word ? findRegister(token.text) : nullptr;
  if (!found)
    return fail(token.loc, "unknown register " + describeToken());
  if (function->registers[*found].type.kind != Type::Pred)
    return fail(token.loc, "a guard must be a predicate, found register '" +
                               token.text + "' of type " +
                               function->registers[*found].type.str());
  instruction.guard = *found;
  advance();
  return true;
}

bool Parser::parseInstruction() {
  Instruction instruction;
  if (!parseGuard(instruction))
    return false;
  instruction.loc = token.loc;
  instruction.source = source;
  if (token.kind != Token::Word)
    return expected("an instruction");
  StringRef rest;
  std::tie(instruction.opcode, rest) = token.text.split('.');
  while (!rest.empty()) {
    auto [modifier, tail] = rest.split('.');
    instruction.modifiers.push_back(modifier);
    rest = tail;
  }
  // The name of a function would look like an unknown label.
  if (instruction.opcode == "call")
    return fail(instruction.loc, "instruction 'call' is not modelled",
                "unsupported");
  advance();
  if (!token.is(';')) {
    do {
      Operand &operand = instruction.operands.emplace_back();
      if (!parseOperand(operand))
        return false;
    } while (take(','));
  }
  if (!expect(';'))
    return false;
  scopes.back().pending.push_back(uint32_t(function->body.size()));
  function->body.push_back(std::move(instruction));
  return true;
}

bool Parser::parseOperand(Operand &operand) {
  if (!parseSingle(operand))
    return false;
  if (!token.is('|'))
    return true;
  Operand first = std::move(operand);
  operand = Operand();
  operand.kind = Operand::Pair;
  operand.loc = first.loc;
  advance();
  operand.elements.push_back(std::move(first));
  return parseSingle(operand.elements.emplace_back());
}

bool Parser::parseSingle(Operand &operand) {
  operand.loc = token.loc;
  if (take('!')) {
    operand.negated = true;
    return parseWord(operand);
  }
  if (token.is('[')) {
    advance();
    return parseAddress(operand);
  }
  if (token.is('{')) {
    advance();
    operand.kind = Operand::Vector;
    return parseList(operand, '}');
  }
  if (token.is('(')) {
    advance();
    operand.kind = Operand::Arguments;
    return parseList(operand, ')');
  }
  if (token.is('-') || token.kind == Token::Integer ||
      token.kind == Token::Real)
    return parseNumber(operand);
  return parseWord(operand);
}

bool Parser::parseNumber(Operand &operand) {
  operand.negative = take('-');
  if (token.kind == Token::Integer) {
    operand.kind = Operand::Integer;
    operand.integer =
        operand.negative ? 0 - token.integer : uint64_t(token.integer);
  } else if (token.kind == Token::Real) {
    operand.kind = Operand::Real;
    operand.bits = token.bits ? token.bits : 64;
    operand.integer = token.integer;
    if (operand.negative)
      operand.integer ^= uint64_t(1) << (operand.bits - 1);
  } else {
    return expected("a number");
  }
  advance();
  return true;
}

bool Parser::parseWord(Operand &operand) {
  if (token.kind != Token::Word)
    return expected("an operand");
  operand.name = token.text;
  operand.loc = token.loc;
  if (token.text == "_") {
    operand.kind = Operand::Sink;
  } else if (const uint32_t *found = findRegister(token.text)) {
    operand.kind = Operand::Reg;
    operand.index = *found;
  } else if (const Variable *variable = findVariable(token.text)) {
    operand.kind = Operand::Var;
    operand.variable = variable;
  } else {
    operand.kind = token.text.starts_with("%") || token.text == "WARP_SZ"
                       ? Operand::Special
                       : Operand::Name;
  }
  advance();
  // `variable + 4`
  if (operand.kind == Operand::Var && (token.is('+') || token.is('-'))) {
    bool minus = token.is('-');
    advance();
    uint64_t value;
    if (!parseInteger(value, "an offset"))
      return false;
    operand.integer = minus ? 0 - value : value;
  }
  return true;
}

bool Parser::parseList(Operand &operand, char close) {
  NestingGuard guard(nesting);
  if (nesting > kMostNesting)
    return fail(operand.loc, "operands are nested too deeply");
  if (take(close))
    return true;
  do {
    if (!parseSingle(operand.elements.emplace_back()))
      return false;
    if (operand.elements.size() > 1024)
      return fail(operand.loc, "too many elements");
  } while (take(','));
  return expect(close);
}

/// After `[`: `base`, `base+4`, `base+-4`, `1024`, `map, {x, y}`.
bool Parser::parseAddress(Operand &operand) {
  operand.kind = Operand::Address;
  NestingGuard guard(nesting);
  if (nesting > kMostNesting)
    return fail(operand.loc, "operands are nested too deeply");
  if (!parseSingle(operand.elements.emplace_back()))
    return false;
  Operand &base = operand.elements.front();
  if (base.kind == Operand::Var)
    std::swap(operand.integer, base.integer);
  if (token.is('+') || token.is('-')) {
    bool minus = token.is('-');
    advance();
    minus ^= take('-');
    uint64_t value;
    if (!parseInteger(value, "an offset"))
      return false;
    operand.integer += minus ? 0 - value : value;
  }
  while (take(','))
    if (!parseSingle(operand.elements.emplace_back()))
      return false;
  return expect(']');
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

bool Parser::resolveLabels(Operand &operand, Scope &scope, bool last,
                           bool &unresolved) {
  for (Operand &element : operand.elements)
    if (!resolveLabels(element, scope, last, unresolved))
      return false;
  if (operand.kind != Operand::Name)
    return true;
  auto found = scope.labels.find(operand.name);
  if (found != scope.labels.end()) {
    operand.kind = Operand::Label;
    operand.index = found->second;
    return true;
  }
  unresolved = true;
  if (last)
    return fail(operand.loc,
                "'" + operand.name + "' is not a register, variable or label");
  return true;
}

/// Names that are not labels of this scope may be labels of the enclosing one.
bool Parser::closeScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  bool last = scopes.size() == 1;
  for (uint32_t index : scope.pending) {
    bool unresolved = false;
    for (Operand &operand : function->body[index].operands)
      if (!resolveLabels(operand, scope, last, unresolved))
        return false;
    if (unresolved)
      scopes.back().pending.push_back(index);
  }
  return true;
}
