//===- Lexer.h - Tokens of PTX ----------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_SYNTAX_LEXER_H
#define FOVEA_LIB_PTX_SYNTAX_LEXER_H

#include "fovea/PTX/Report.h"

#include "llvm/ADT/StringRef.h"

namespace fovea::ptx {

struct Token {
  enum Kind : uint8_t {
    End,
    Word,    // an identifier, with dots and double colons inside
    Dotted,  // a directive or modifier: .reg
    Integer, // integer
    Real,    // integer: bits, of a float with `bits` bits
    String,
    Punctuation,
    Bad
  } kind = End;
  llvm::StringRef text;
  uint64_t integer = 0;
  uint8_t bits = 0;
  Location loc;

  bool is(char c) const {
    return kind == Punctuation && text.size() == 1 && text[0] == c;
  }
  bool isWord(llvm::StringRef t) const {
    return (kind == Word || kind == Dotted) && text == t;
  }
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : text(text) {}
  Token next();

private:
  void skipBlanks();
  Token lexNumber(Token token);
  Token finish(Token token, size_t end);
  char peek(size_t n = 0) const {
    return position + n < text.size() ? text[position + n] : '\0';
  }

  llvm::StringRef text;
  size_t position = 0, lineStart = 0;
  unsigned line = 1;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_SYNTAX_LEXER_H
