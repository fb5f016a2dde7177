"""CUDA C++ source as tokens: enough of the rules to tell code from comments, strings and directives."""

import re
from bisect import bisect_right
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<comment>//(?:\\\r?\n|[^\n])* | /\*.*?\*/)
    | (?P<string>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
               | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<name>[A-Za-z_$][\w$]*)
    | (?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
    | (?P<newline>\n)
    | (?P<space>(?:[^\S\n]|\\\r?\n)+)
    | (?P<mark><<<|<<=|<<|<=|>=|->|::|\.\.\.|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_OPENERS = {closer: opener for opener, closer in _CLOSERS.items()}


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the source; `directive` numbers the preprocessor line it stands on, 0 for plain code."""

    kind: str  # name, number, string, character, mark
    text: str
    start: int
    directive: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Source:
    """A source text and its tokens. A `>` is always its own token: it may close a template or a launch."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self._line_starts = [0, *(match.end() for match in re.finditer(r"\n", text))]

    def line(self, token: Token) -> int:
        """The line `token` stands on, from 1."""
        return bisect_right(self._line_starts, token.start)

    def is_mark(self, index: int, text: str) -> bool:
        """Whether there is a token at `index` and it reads `text`."""
        return 0 <= index < len(self.tokens) and self.tokens[index].text == text

    def closing(self, index: int) -> int | None:
        """The index of the bracket that closes the one at `index`, or None."""
        stack: list[str] = []
        for position in range(index, len(self.tokens)):
            text = self.tokens[position].text
            if text in _CLOSERS:
                stack.append(_CLOSERS[text])
            elif text in _OPENERS and (not stack or stack.pop() != text):
                return None
            if not stack:
                return position
        return None

    def opening(self, index: int) -> int | None:
        """The index of the bracket that the one at `index` closes, or None."""
        stack: list[str] = []
        for position in range(index, -1, -1):
            text = self.tokens[position].text
            if text in _OPENERS:
                stack.append(_OPENERS[text])
            elif text in _CLOSERS and (not stack or stack.pop() != text):
                return None
            if not stack:
                return position
        return None

    def opening_angle(self, index: int) -> int | None:
        """The index of the `<` whose template arguments the `>` at `index` closes, or None."""
        depth = 0
        position: int | None = index
        while position is not None and position >= 0:
            text = self.tokens[position].text
            if text in _OPENERS:
                position = self.opening(position)
                if position is None:
                    return None
            elif text in ("{", "(", "[", ";"):
                return None
            depth += (text == ">") - (text == "<")
            if depth == 0:
                return position
            position -= 1
        return None


class Edits:
    """Replacements of stretches of a text, applied all at once; they may not overlap."""

    def __init__(self) -> None:
        self._edits: list[tuple[int, int, str]] = []

    def insert(self, at: int, text: str) -> None:
        self._edits.append((at, at, text))

    def replace(self, start: int, end: int, text: str) -> None:
        self._edits.append((start, end, text))

    def remove(self, source: str, start: int, end: int) -> None:
        """Take out a stretch but keep its line breaks, so that later lines keep their numbers."""
        self.replace(start, end, "".join(re.findall(r"\\?\r?\n", source[start:end])))

    def apply(self, source: str) -> str:
        pieces: list[str] = []
        done = 0
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2]):
            pieces += (source[done:start], text)
            done = end
        pieces.append(source[done:])
        return "".join(pieces)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    directive = num_directives = 0
    is_line_start = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "mark"
        if kind == "newline":
            directive, is_line_start = 0, True
        elif kind not in ("comment", "space"):
            if is_line_start and match.group() == "#":
                num_directives += 1
                directive = num_directives
            is_line_start = False
            tokens.append(Token(kind, match.group(), match.start(), directive))
    return tokens
