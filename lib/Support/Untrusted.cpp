//===- Untrusted.cpp - Checks on untrusted input ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/Untrusted.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

namespace {
struct Token {
  enum Kind {
    End,
    Open,
    Close,
    Minus,
    Equals,
    /// A name of letters, digits, dots, `_` and `$`.
    Word,
    /// A name with a prefix `#` or `!`.
    Symbol,
    Other
  };
  Kind kind;
  StringRef text;
  size_t start;
  /// The token is the first one on its line.
  bool startsLine;
};

/// Splits text into the tokens that the checks need.
class Lexer {
public:
  Lexer(StringRef text, TextSyntax syntax) : text(text), syntax(syntax) {}

  Token next();

private:
  bool skipBlanks();
  size_t skipString(size_t from) const;
  size_t skipName(size_t from) const;

  StringRef text;
  TextSyntax syntax;
  size_t position = 0;
};
} // namespace

/// Skips whitespace and comments. Returns true if a new line began.
bool Lexer::skipBlanks() {
  bool begins = position == 0;
  for (; position < text.size(); ++position) {
    if (syntax == TextSyntax::MLIR && text.substr(position).starts_with("//"))
      position = std::min(text.find('\n', position), text.size());
    if (position == text.size() || !llvm::isSpace(text[position]))
      break;
    begins |= text[position] == '\n';
  }
  return begins;
}

/// Returns the position after a string. A newline ends an unterminated string,
/// at which parsers stop.
size_t Lexer::skipString(size_t from) const {
  size_t i = from + 1;
  while (i < text.size() && text[i] != '"' && text[i] != '\n')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

size_t Lexer::skipName(size_t from) const {
  return std::min(text.find_if_not(
                      [](char c) {
                        return llvm::isAlnum(c) || c == '_' || c == '.' ||
                               c == '$';
                      },
                      from),
                  text.size());
}

Token Lexer::next() {
  bool startsLine = skipBlanks();
  size_t start = position;
  auto take = [&](Token::Kind kind, size_t end) {
    position = end;
    return Token{kind, text.slice(start, end), start, startsLine};
  };
  if (start == text.size())
    return take(Token::End, start);
  char c = text[start];
  if (StringRef("([{<").contains(c))
    return take(Token::Open, start + 1);
  if (StringRef(")]}>").contains(c))
    return take(Token::Close, start + 1);
  if (c == '"' && syntax != TextSyntax::Plain)
    return take(Token::Other, skipString(start));
  if (syntax != TextSyntax::MLIR)
    return take(Token::Other, start + 1);
  if (c == '-')
    return text.substr(start).starts_with("->") ? take(Token::Other, start + 2)
                                                : take(Token::Minus, start + 1);
  if (c == '=')
    return take(Token::Equals, start + 1);
  if (c == '#' || c == '!')
    return take(Token::Symbol, skipName(start + 1));
  if (llvm::isAlpha(c) || c == '_')
    return take(Token::Word, skipName(start));
  return take(Token::Other, start + 1);
}

//===----------------------------------------------------------------------===//
// Nesting
//===----------------------------------------------------------------------===//

namespace {
/// Tracks the nesting depth of text, token by token. A type or attribute may
/// contain an alias that contains another alias: text that parses line by line
/// is still deep for printers and walkers.
class Nesting {
public:
  /// Adds a token. Returns true if the nesting is too deep.
  bool add(const Token &token);

private:
  void define(const Token &token);

  int64_t depth = 0, signs = 0;
  llvm::StringMap<int64_t> aliases;
  /// The alias being defined and its depth, and the symbol that a following
  /// equals sign would define.
  StringRef defined, candidate;
  int64_t definedDepth = 0;
  bool hasBody = false;
};
} // namespace

/// Aliases are defined at nesting depth 0; a definition ends at the end of a
/// line.
void Nesting::define(const Token &token) {
  if (!defined.empty() && token.startsLine && hasBody && depth == 0) {
    aliases[defined] = definedDepth;
    defined = "";
  }
  if (token.kind == Token::Equals && !candidate.empty()) {
    defined = candidate;
    definedDepth = 0;
    hasBody = false;
  } else {
    hasBody = true;
  }
  bool isFirst = token.kind == Token::Symbol && token.startsLine && depth == 0;
  candidate = isFirst ? token.text : StringRef();
}

bool Nesting::add(const Token &token) {
  define(token);
  int64_t here = depth;
  // Consecutive signs are nested expressions.
  signs = token.kind == Token::Minus ? signs + 1 : 0;
  if (token.kind == Token::Open)
    here = ++depth;
  else if (token.kind == Token::Close)
    depth = std::max<int64_t>(depth - 1, 0);
  else if (token.kind == Token::Symbol)
    here += aliases.lookup(token.text);
  here += signs;
  definedDepth = std::max(definedDepth, here);
  return here > kMaxNesting;
}

size_t fovea::findDeepNesting(StringRef text, TextSyntax syntax) {
  Lexer lexer(text, syntax);
  Nesting nesting;
  for (Token token = lexer.next(); token.kind != Token::End;
       token = lexer.next())
    if (nesting.add(token))
      return token.start;
  return StringRef::npos;
}

static std::string describeNesting() {
  return "brackets nest deeper than " + std::to_string(kMaxNesting);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static bool isBytecode(StringRef text) { return text.starts_with("ML\xefR"); }

/// `array<index: 1>` crashes the upstream parser, which queries the bit width
/// of `index`. An alias may stand for `index`.
static size_t findIndexArray(StringRef text) {
  Lexer lexer(text, TextSyntax::MLIR);
  Token before = lexer.next(), last = lexer.next();
  for (Token token = lexer.next(); token.kind != Token::End;
       before = last, last = token, token = lexer.next())
    if (before.kind == Token::Word && before.text == "array" &&
        last.text == "<" &&
        (token.text == "index" ||
         (token.kind == Token::Symbol && token.text.starts_with("!"))))
      return before.start;
  return StringRef::npos;
}

static Location getLocation(MLIRContext *context, StringRef text, size_t offset,
                            StringRef file) {
  StringRef before = text.take_front(offset);
  size_t line = before.count('\n') + 1;
  size_t column = offset - (before.rfind('\n') + 1) + 1;
  return FileLineColLoc::get(context, file, line, column);
}

LogicalResult fovea::checkProgramText(MLIRContext *context, StringRef text,
                                      StringRef file) {
  if (isBytecode(text))
    return success();
  if (size_t place = findDeepNesting(text, TextSyntax::MLIR);
      place != StringRef::npos)
    return emitError(getLocation(context, text, place, file),
                     describeNesting());
  if (size_t place = findIndexArray(text); place != StringRef::npos)
    return emitError(getLocation(context, text, place, file),
                     "an array's elements must be integers or floats of a "
                     "known width, found 'index' or an alias");
  return success();
}

LogicalResult fovea::checkProgramFile(const llvm::MemoryBuffer &file) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(file.getMemBufferRef(),
                                       /*RequiresNullTerminator=*/false),
      llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  return checkProgramText(&context, file.getBuffer(),
                          file.getBufferIdentifier());
}

OwningOpRef<ModuleOp> fovea::parseProgram(const llvm::SourceMgr &sources,
                                          MLIRContext *context) {
  const llvm::MemoryBuffer *main =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (failed(checkProgramText(context, main->getBuffer(),
                              main->getBufferIdentifier())))
    return nullptr;
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}

std::string fovea::checkPipelineText(StringRef text) {
  return findDeepNesting(text, TextSyntax::Plain) == StringRef::npos
             ? ""
             : describeNesting();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Returns true if a path is a pipe, a socket or a device.
static bool isEndless(StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return false;
  switch (status.type()) {
  case llvm::sys::fs::file_type::fifo_file:
  case llvm::sys::fs::file_type::socket_file:
  case llvm::sys::fs::file_type::character_file:
  case llvm::sys::fs::file_type::block_file:
    return true;
  default:
    return false;
  }
}

static std::string describeEndless(StringRef path) {
  return ("cannot open input file '" + path +
          "': not a regular file; '-' is the standard input")
      .str();
}

std::unique_ptr<llvm::MemoryBuffer>
fovea::openProgramFile(StringRef path, std::string &message) {
  if (!isEndless(path))
    return openInputFile(path, &message);
  message = describeEndless(path);
  return nullptr;
}

LogicalResult fovea::checkFileArguments(ArrayRef<char *> arguments) {
  StringRef last;
  for (StringRef argument : arguments) {
    if (last != "-o" && last != "--o" && isEndless(argument)) {
      llvm::errs() << "error: " << describeEndless(argument) << "\n";
      return failure();
    }
    last = argument;
  }
  return success();
}

llvm::Expected<llvm::json::Value> fovea::parseJSON(StringRef text) {
  if (findDeepNesting(text, TextSyntax::JSON) != StringRef::npos)
    return llvm::createStringError(describeNesting());
  return llvm::json::parse(text);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
fovea::readRegularFile(StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return llvm::createStringError(error, error.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return llvm::createStringError("not a regular file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError(file.getError(), file.getError().message());
  return std::move(*file);
}
