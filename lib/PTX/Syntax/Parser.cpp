//===- Parser.cpp - Parses modules and directives -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses a module's directives: entries, parameters, variables, debug
// information. Statements.cpp has the bodies of functions.
//
//===----------------------------------------------------------------------===//

#include "Syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Alignment.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

static constexpr uint64_t kMostVariableBytes = uint64_t(1) << 30;
// Maximum local memory of a thread in the ISA.
static constexpr uint64_t kMostLocalBytes = 512 << 10;

std::string Type::str() const {
  static const char *const letters[] = {"?", "pred", "b", "u", "s", "f", "bf"};
  if (kind == Pred)
    return "pred";
  if (packed)
    return letters[kind] + std::to_string(bits / 2) + "x2";
  return letters[kind] + std::to_string(bits);
}

Type fovea::ptx::parseType(StringRef name) {
  if (name == "pred")
    return {Type::Pred, 1};
  StringRef rest = name;
  Type type;
  if (rest.consume_front("bf"))
    type.kind = Type::BFloat;
  else if (rest.consume_front("b"))
    type.kind = Type::Bits;
  else if (rest.consume_front("u"))
    type.kind = Type::Unsigned;
  else if (rest.consume_front("s"))
    type.kind = Type::Signed;
  else if (rest.consume_front("f"))
    type.kind = Type::Float;
  type.packed = rest.consume_back("x2");
  if (rest.getAsInteger(10, type.bits) || type.kind == Type::None)
    return {};
  bool floating = type.kind == Type::Float || type.kind == Type::BFloat;
  bool known = type.kind == Type::BFloat ? type.bits == 16
               : floating
                   ? type.bits == 16 || type.bits == 32 || type.bits == 64
                   : type.bits == 8 || type.bits == 16 || type.bits == 32 ||
                         type.bits == 64 ||
                         (type.kind == Type::Bits && type.bits == 128);
  if (type.packed) {
    known =
        known && type.kind != Type::Bits && type.bits <= 32 && type.bits >= 16;
    type.bits *= 2;
  }
  return known ? type : Type();
}

std::vector<Diagnostic> fovea::ptx::parse(Syntax &syntax) {
  Parser parser(syntax);
  parser.parseModule();
  return std::move(parser.diagnostics);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

bool Parser::fail(Location loc, const Twine &message, StringRef kind) {
  Diagnostic diagnostic;
  diagnostic.kind = kind.str();
  diagnostic.message = message.str();
  diagnostic.file = syntax.file;
  diagnostic.loc = loc;
  diagnostics.push_back(std::move(diagnostic));
  return false;
}

std::string Parser::describeToken() const {
  if (token.kind == Token::End)
    return "the end of the file";
  if (token.kind == Token::Bad && token.text.empty())
    return "a string that does not end";
  return ("'" + token.text.take_front(80) + "'").str();
}

bool Parser::expected(StringRef what) {
  return fail(token.loc, "expected " + what + ", found " + describeToken());
}

bool Parser::take(char c) {
  if (!token.is(c))
    return false;
  advance();
  return true;
}

bool Parser::expect(char c) {
  return take(c) || expected(std::string("'") + c + "'");
}

bool Parser::takeWord(StringRef word) {
  if (!token.isWord(word))
    return false;
  advance();
  return true;
}

bool Parser::parseInteger(uint64_t &value, StringRef what) {
  if (token.kind != Token::Integer)
    return expected(what);
  value = token.integer;
  advance();
  return true;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

bool Parser::parseModule() {
  scopes.emplace_back();
  if (!parseVersion() || !parseTarget())
    return false;
  while (token.kind != Token::End)
    if (!parseTopLevel())
      return false;
  // `.file` directives may follow the lines that refer to them.
  for (size_t n = 1; n < syntax.sources.size(); ++n) {
    uint64_t file = sourceFiles[n - 1];
    if (file < files.size() && !files[file].empty())
      syntax.sources[n] = files[file] + syntax.sources[n];
    else
      syntax.sources[n].clear();
  }
  return true;
}

bool Parser::parseVersion() {
  if (!token.isWord(".version"))
    return expected("'.version' at the start of the module");
  advance();
  StringRef text = token.text;
  auto [high, low] = text.split('.');
  if (token.kind != Token::Real || high.getAsInteger(10, syntax.major) ||
      low.getAsInteger(10, syntax.minor))
    return expected("the version of the ISA, such as 8.0");
  advance();
  return true;
}

bool Parser::parseTarget() {
  if (!token.isWord(".target"))
    return expected("'.target'");
  advance();
  if (token.kind != Token::Word || !token.text.starts_with("sm_"))
    return expected("a target, such as sm_90a");
  syntax.target = token.text.str();
  advance();
  while (take(',')) {
    if (!token.isWord("debug"))
      return fail(token.loc,
                  "target option " + describeToken() + " is not modelled",
                  "unsupported");
    advance();
  }
  if (!takeWord(".address_size"))
    return true;
  uint64_t size;
  Location loc = token.loc;
  if (!parseInteger(size, "the address size"))
    return false;
  if (size != 64)
    return fail(loc,
                "addresses of " + Twine(size) +
                    " bits are not modelled: expected 64",
                "unsupported");
  return true;
}

bool Parser::parseTopLevel() {
  if (token.isWord(".file"))
    return parseFile();
  if (token.isWord(".loc"))
    return parseLoc();
  if (token.isWord(".section"))
    return skipSection();
  bool external = false;
  while (token.isWord(".visible") || token.isWord(".extern") ||
         token.isWord(".weak") || token.isWord(".common")) {
    external |= token.isWord(".extern");
    advance();
  }
  if (takeWord(".entry"))
    return parseFunction(true);
  if (token.isWord(".func"))
    return skipDeviceFunction();
  for (auto [word, space] : {std::pair(".global", Space::Global),
                             {".const", Space::Const},
                             {".shared", Space::Shared}})
    if (takeWord(word))
      return parseVariables(space, external);
  if (takeWord(".pragma")) {
    advance();
    return expect(';');
  }
  if (token.kind == Token::Dotted)
    return fail(token.loc,
                "directive " + describeToken() + " is not modelled here",
                "unsupported");
  return expected("a directive");
}

/// `.file 1 "name" [, time, size]`
bool Parser::parseFile() {
  advance();
  uint64_t index;
  if (!parseInteger(index, "the number of a file"))
    return false;
  if (token.kind != Token::String)
    return expected("the name of a file");
  if (index < 1024) {
    files.resize(std::max<size_t>(files.size(), index + 1));
    files[index] = token.text.str();
  }
  advance();
  uint64_t ignored;
  while (take(','))
    if (!parseInteger(ignored, "a number"))
      return false;
  return true;
}

/// `.loc file line column [, function_name label [+ offset], inlined_at ...]`
bool Parser::parseLoc() {
  unsigned line = token.loc.line;
  advance();
  uint64_t file, sourceLine, column;
  if (!parseInteger(file, "the number of a file") ||
      !parseInteger(sourceLine, "a line") || !parseInteger(column, "a column"))
    return false;
  while (token.kind != Token::End && token.loc.line == line)
    advance();
  source = 0;
  if (!sourceLine)
    return true;
  source = syntax.sources.size();
  sourceFiles.push_back(file);
  syntax.sources.push_back(":" + std::to_string(sourceLine) + ":" +
                           std::to_string(column));
  return true;
}

/// Sections contain only debug information.
bool Parser::skipSection() {
  Location loc = token.loc;
  advance();
  if (token.kind != Token::Dotted)
    return expected("the name of a section");
  advance();
  if (!expect('{'))
    return false;
  while (token.kind != Token::End && !token.is('}'))
    advance();
  if (token.kind == Token::End)
    return fail(loc, "this section does not end");
  advance();
  return true;
}

/// Skips a declaration or definition of a `.func`: only calls need it, and
/// 'call' is not modelled.
bool Parser::skipDeviceFunction() {
  Location loc = token.loc;
  while (token.kind != Token::End && !token.is('{') && !token.is(';') &&
         !token.isWord(".entry"))
    advance();
  if (take(';'))
    return true;
  if (!token.is('{'))
    return expected("'{' or ';'");
  unsigned depth = 0;
  while (token.kind != Token::End) {
    depth += token.is('{');
    bool closes = token.is('}');
    advance();
    if (closes && --depth == 0)
      return true;
  }
  return fail(loc, "this function does not end");
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool Parser::parseFunction(bool entry) {
  function = &syntax.functions.emplace_back();
  function->entry = entry;
  function->kernel.loc = token.loc;
  if (token.kind != Token::Word)
    return expected("the name of an entry");
  function->kernel.name = token.text.str();
  for (const Function &other : syntax.functions)
    if (&other != function && other.kernel.name == function->kernel.name)
      return fail(token.loc,
                  "entry '" + other.kernel.name + "' is defined a second time");
  advance();
  scopes.emplace_back();
  source = 0;
  if (take('(') && !take(')')) {
    do {
      if (!parseParameter(*function))
        return false;
    } while (take(','));
    if (!expect(')'))
      return false;
  }
  if (!parsePerformance(*function))
    return false;
  if (!token.is('{'))
    return expected("'{'");
  advance();
  if (!parseBlock() || !closeScope())
    return false;
  function->kernel.staticSharedBytes = syntax.staticSharedBytes;
  function = nullptr;
  return true;
}

/// `.param .align 64 .b8 name[128]`, `.param .u64 .ptr .global .align 1 name`
bool Parser::parseParameter(Function &function) {
  Location loc = token.loc;
  if (!takeWord(".param"))
    return expected("'.param'");
  Variable variable;
  Type type;
  unsigned vector = 1;
  if (!parseVariableType(type, vector, variable.alignment))
    return false;
  if (takeWord(".ptr")) {
    while (token.isWord(".global") || token.isWord(".shared") ||
           token.isWord(".local") || token.isWord(".const"))
      advance();
    uint64_t ignored;
    if (takeWord(".align") && !parseInteger(ignored, "an alignment"))
      return false;
  }
  variable.loc = token.loc;
  variable.name = token.text;
  if (token.kind != Token::Word)
    return expected("the name of a parameter");
  advance();
  uint64_t count = 1;
  bool open = false;
  if (!parseExtents(count, open))
    return false;
  if (open)
    return fail(loc, "a parameter must have a size");
  variable.space = Space::Param;
  variable.bytes = count * vector * type.getBytes();
  Kernel &kernel = function.kernel;
  variable.offset = llvm::alignTo(kernel.parameterBytes, variable.alignment);
  kernel.parameterBytes = variable.offset + variable.bytes;
  if (kernel.parameterBytes > 32764)
    return fail(loc, "parameters have " + Twine(kernel.parameterBytes) +
                         " bytes, but at most 32764 are allowed");
  kernel.parameters.push_back({variable.name.str(), variable.offset,
                               variable.bytes, variable.alignment});
  function.variables.push_back(variable);
  if (!scopes.back()
           .variables.try_emplace(variable.name, &function.variables.back())
           .second)
    return fail(loc, "parameter '" + variable.name + "' is declared twice");
  function.parameters.push_back(&function.variables.back());
  return true;
}

bool Parser::parseTriple(std::array<uint32_t, 3> &values) {
  values = {1, 1, 1};
  uint64_t value;
  for (int d = 0; d < 3; ++d) {
    if (d && !take(','))
      break;
    Location loc = token.loc;
    if (!parseInteger(value, "an extent"))
      return false;
    if (!value || value > 0x7fffffff)
      return fail(loc, "an extent must be positive, found " + Twine(value));
    values[d] = value;
  }
  return true;
}

bool Parser::parsePerformance(Function &function) {
  Kernel &kernel = function.kernel;
  uint64_t value;
  std::array<uint32_t, 3> triple;
  while (!token.is('{')) {
    Location loc = token.loc;
    if (takeWord(".reqntid")) {
      if (!parseTriple(kernel.requiredBlock))
        return false;
    } else if (takeWord(".maxntid")) {
      if (!parseTriple(triple))
        return false;
      uint64_t threads = uint64_t(triple[0]) * triple[1] * triple[2];
      if (threads > 1024)
        return fail(loc, "a CTA must have at most 1024 threads, found " +
                             Twine(threads));
      kernel.maxThreads = threads;
    } else if (takeWord(".reqnctapercluster")) {
      if (!parseTriple(kernel.requiredCluster))
        return false;
    } else if (takeWord(".minnctapersm")) {
      if (!parseInteger(value, "a number of CTAs"))
        return false;
      kernel.minBlocks = value;
    } else if (takeWord(".maxnreg")) {
      if (!parseInteger(value, "a number of registers"))
        return false;
      kernel.maxRegisters = value;
    } else if (takeWord(".maxnctapersm") || takeWord(".maxclusterrank")) {
      if (!parseInteger(value, "a number of CTAs"))
        return false;
    } else if (takeWord(".explicitcluster")) {
      kernel.explicitCluster = true;
    } else if (takeWord(".pragma")) {
      advance();
      if (!expect(';'))
        return false;
    } else if (token.kind == Token::Dotted) {
      return fail(
          loc, "directive " + describeToken() + " of an entry is not modelled",
          "unsupported");
    } else {
      return expected("'{'");
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

bool Parser::parseVariableType(Type &type, unsigned &vector,
                               uint64_t &alignment) {
  Location loc = token.loc;
  alignment = 0;
  vector = 1;
  while (token.kind == Token::Dotted) {
    if (takeWord(".align")) {
      loc = token.loc;
      if (!parseInteger(alignment, "an alignment"))
        return false;
      if (!alignment || (alignment & (alignment - 1)) || alignment > 1 << 16)
        return fail(loc, "an alignment must be a power of two, found " +
                             Twine(alignment));
      continue;
    }
    if (takeWord(".v2"))
      vector = 2;
    else if (takeWord(".v4"))
      vector = 4;
    else
      break;
  }
  type = parseType(token.text.drop_front(token.kind == Token::Dotted));
  if (token.kind != Token::Dotted || !type || type.kind == Type::Pred)
    return expected("a type");
  advance();
  if (!alignment)
    alignment = type.getBytes() * vector;
  return true;
}

bool Parser::parseExtents(uint64_t &count, bool &open) {
  while (take('[')) {
    if (take(']')) {
      open = true;
      continue;
    }
    Location loc = token.loc;
    uint64_t extent;
    if (!parseInteger(extent, "an extent"))
      return false;
    if (extent > kMostVariableBytes ||
        (extent && count > kMostVariableBytes / extent))
      return fail(loc, "the array is too large");
    count *= extent;
    if (!expect(']'))
      return false;
  }
  return true;
}

/// Declarations after `.shared` and similar directives, up to the semicolon.
bool Parser::parseVariables(Space space, bool external) {
  Variable variable;
  Type type;
  unsigned vector;
  if (!parseVariableType(type, vector, variable.alignment))
    return false;
  variable.space = space;
  do {
    Variable one = variable;
    one.loc = token.loc;
    one.name = token.text;
    if (token.kind != Token::Word)
      return expected("the name of a variable");
    advance();
    uint64_t count = 1;
    bool open = false;
    if (!parseExtents(count, open))
      return false;
    one.external = external;
    one.dynamic = open && external && space == Space::Shared;
    one.bytes = one.dynamic ? 0 : count * vector * type.getBytes();
    if (external && !one.dynamic)
      return fail(one.loc, "variables of other modules are not modelled",
                  "unsupported");
    if (take('=')) {
      if (space != Space::Global && space != Space::Const)
        return fail(one.loc, "only variables in .global and .const have "
                             "initial values");
      one.initial.resize(open ? 0 : one.bytes);
      uint64_t position = 0;
      bool sized = !open;
      if (!parseInitial(one, type, position))
        return false;
      if (sized && position > one.bytes)
        return fail(one.loc, "more initial values than the variable has "
                             "elements");
      if (!sized)
        one.bytes = position;
      one.initial.resize(one.bytes);
    } else if (open && !one.dynamic) {
      return fail(one.loc, "a variable must have a size");
    }
    if (!placeVariable(std::move(one)))
      return false;
  } while (take(','));
  return expect(';');
}

bool Parser::placeVariable(Variable variable) {
  uint64_t *bytes = nullptr;
  if (variable.space == Space::Shared && !variable.dynamic)
    bytes = &syntax.staticSharedBytes;
  if (variable.space == Space::Local)
    bytes = &function->kernel.localBytes;
  if (bytes) {
    variable.offset = llvm::alignTo(*bytes, variable.alignment);
    *bytes = variable.offset + variable.bytes;
    if (*bytes >
        (variable.space == Space::Local ? kMostLocalBytes : kMostVariableBytes))
      return fail(variable.loc, "variables have too many bytes");
  }
  // Variables of a function in .global, .const and .shared have the module's
  // lifetime.
  bool local = variable.space == Space::Local;
  std::deque<Variable> &owner = local ? function->variables : syntax.variables;
  owner.push_back(std::move(variable));
  const Variable &placed = owner.back();
  if (!scopes.back().variables.try_emplace(placed.name, &placed).second)
    return fail(placed.loc, "variable '" + placed.name + "' is declared twice");
  return true;
}

/// Nested braces fill an array in order.
bool Parser::parseInitial(Variable &variable, Type element,
                          uint64_t &position) {
  NestingGuard guard(nesting);
  if (nesting > 16)
    return fail(token.loc, "initial values are nested too deeply");
  if (!take('{'))
    return putInitial(variable, element, position);
  if (take('}'))
    return true;
  do {
    if (!parseInitial(variable, element, position))
      return false;
  } while (take(','));
  return expect('}');
}

bool Parser::putInitial(Variable &variable, Type element, uint64_t &position) {
  uint64_t value = 0;
  bool generic = takeWord("generic");
  bool negative = !generic && take('-');
  if (generic && !expect('('))
    return false;
  if (token.kind == Token::Integer) {
    value = negative ? 0 - token.integer : token.integer;
  } else if (token.kind == Token::Real) {
    value = token.integer;
    if (!token.bits && element.bits == 32) {
      double wide;
      memcpy(&wide, &value, sizeof wide);
      float narrow = wide;
      uint32_t bits;
      memcpy(&bits, &narrow, sizeof bits);
      value = bits;
    }
    if (negative)
      value ^= uint64_t(1) << (element.bits - 1);
  } else if (token.kind == Token::Word) {
    variable.relocations.push_back(
        {position, 0, token.text, generic, token.loc});
  } else {
    return expected("an initial value");
  }
  advance();
  if (generic && !expect(')'))
    return false;
  if (!variable.relocations.empty() &&
      variable.relocations.back().offset == position && take('+'))
    if (!parseInteger(variable.relocations.back().addend, "an offset"))
      return false;
  unsigned bytes = element.getBytes();
  if (position + bytes > kMostVariableBytes)
    return fail(token.loc, "too many initial values");
  if (variable.initial.size() < position + bytes)
    variable.initial.resize(position + bytes);
  memcpy(variable.initial.data() + position, &value,
         std::min<size_t>(bytes, sizeof value));
  position += bytes;
  return true;
}
