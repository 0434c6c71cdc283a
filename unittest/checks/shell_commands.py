# SPDX-License-Identifier: GPL-2.0-only
"""Which commands a shell script calls, read from its text.

It knows as much of the language as the scripts of this repository use; here-documents and
backquotes are refused.
"""

import re
from dataclasses import dataclass, field

OPERATORS = (
    ";;& ;; && || |& <<< << >> >& <& &> ; | & ( ) < >".split()
)  # those that begin alike: longest first
REDIRECTIONS = {"<<<", ">>", ">&", "<&", "&>", "<", ">"}
RESERVED = set("if then elif else fi do done while until ! { } time esac".split())
# Commands that run another one: how many words, options apart, come before it.
RUNNERS = {
    "exec": 0,
    "env": 0,
    "timeout": 1,
    "nvalchemi_phase": 1,
    "nvalchemi_optional": 1,
    "nvalchemi_with_lock": 1,
}
OPTIONS_WITH_VALUE = {"-u"}  # of env
ASSIGNMENT = re.compile(r"\w+(\[[^]]*\])?\+?=")


@dataclass
class Found:
    commands: set = field(default_factory=set)
    functions: set = field(default_factory=set)


class Lexer:
    """Splits a script into words and operators; what is in $(...) or <(...) goes to `nested`."""

    def __init__(self, text):
        self.text = text.replace("\\\n", " ")
        self.at = 0
        self.nested = []

    def tokens(self):
        """(is an operator, text) of each."""
        while self.at < len(self.text):
            rest = self.text[self.at :]
            operator = next((o for o in OPERATORS if rest.startswith(o)), None)
            if rest[0] == "\n":
                self.at += 1
                yield True, "\n"
            elif rest[0].isspace():
                self.at += 1
            elif rest[0] == "#":
                self.at += len(rest.split("\n", 1)[0])
            elif operator and not rest.startswith(("<(", ">(")):
                self.at += len(operator)
                yield True, operator
            else:
                word = self.word()
                if not (
                    re.fullmatch(r"\d+|\{\w+\}", word)
                    and self.text[self.at : self.at + 1] in ("<", ">")
                ):
                    yield False, word

    def word(self):
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;|&)":
            character = self.text[self.at]
            if character == "(" and self.text[self.at - 1] == "=":
                self.at += 1
                self.skip_to(")")  # the list of an array
            elif (
                character in "<>"
                and self.text[self.at + 1 : self.at + 2] == "("
                and self.at == begin
            ):
                self.at += 2
                self.keep_nested()
            elif character in "(<>":
                break
            else:
                self.step()
        return self.text[begin : self.at]

    def step(self):
        """Over one character, or all of a quotation or expansion that begins here."""
        rest = self.text[self.at :]
        for opening, closing in (("$((", "))"), ("${", "}"), ('"', '"')):
            if rest.startswith(opening):
                self.at += len(opening)
                self.skip_to(closing, quoted=opening == '"')
                return
        if rest.startswith("$("):
            self.at += 2
            self.keep_nested()
        elif rest[0] == "'":
            self.at = self.text.index("'", self.at + 1) + 1
        elif rest[0] == "`":
            raise ValueError("a backquote")
        else:
            self.at += 2 if rest[0] == "\\" else 1

    def skip_to(self, closing, quoted=False):
        while not self.text.startswith(closing, self.at):
            if quoted and self.text[self.at] == "'":
                self.at += 1
            else:
                self.step()
        self.at += len(closing)

    def keep_nested(self):
        begin = self.at
        depth = 1
        while depth:
            character = self.text[self.at]
            depth += {"(": 1, ")": -1}.get(character, 0)
            self.step()
        self.nested.append(self.text[begin : self.at - 1])


class Parser:
    def __init__(self):
        self.found = Found()
        self.pending_cases = []  # for each `case` that is open: whether a pattern is awaited

    def read(self, text):
        lexer = Lexer(text)
        tokens = list(lexer.tokens())
        while tokens:
            self.command(tokens)
        for inner in lexer.nested:
            self.read(inner)
        return self.found

    def command(self, tokens):
        """Takes one token, or all up to the word that says what is run."""
        is_operator, text = tokens.pop(0)
        if text == "<<":
            raise ValueError("a here-document")
        if self.pending_cases and self.pending_cases[-1]:
            self.pattern(is_operator, text)
        elif is_operator:
            if text in REDIRECTIONS:
                tokens.pop(0)
            elif text in (";;", ";;&"):
                self.pending_cases[-1] = True
        elif text == "esac":
            self.pending_cases.pop()
        elif text == "case":
            self.skip(tokens, "in")
            self.pending_cases.append(True)
        elif text == "[[":
            self.skip(tokens, "]]")
        elif tokens[:2] == [(True, "("), (True, ")")]:
            del tokens[:2]
            self.found.functions.add(text)
        elif text not in RESERVED and not ASSIGNMENT.match(text):
            self.found.commands.add(text)
            if text not in RUNNERS or not self.reach_what_is_run(tokens, RUNNERS[text]):
                self.skip_arguments(tokens)

    def pattern(self, is_operator, text):
        if text == "esac":
            self.pending_cases.pop()
        elif is_operator and text == ")":
            self.pending_cases[-1] = False

    @staticmethod
    def skip(tokens, word):
        while tokens.pop(0) != (False, word):
            pass

    @staticmethod
    def skip_arguments(tokens):
        while tokens and (not tokens[0][0] or tokens[0][1] in REDIRECTIONS):
            tokens.pop(0)

    @staticmethod
    def reach_what_is_run(tokens, words):
        while tokens and not tokens[0][0]:
            text = tokens[0][1]
            if text in OPTIONS_WITH_VALUE:
                del tokens[:2]
            elif text.startswith("-") or ASSIGNMENT.match(text):
                tokens.pop(0)
            elif words:
                words -= 1
                tokens.pop(0)
            else:
                return True
        return False


def read_script(text):
    """The names of all commands and functions; those that stand in a variable are not told."""
    found = Parser().read(text)
    found.commands = {name for name in found.commands if re.fullmatch(r"[\w.+-]+|\[", name)}
    return found
