"""Launchers in CUDA source: found by tree-sitter, their parameters read token by token.

A parse error somewhere in a file says nothing: tree-sitter does not know all of CUDA. What it misses is found
by name after the build, when the library's symbols are known (`find_named`).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from warpsmith.toolchain.launchers import (
    ACCEPTED,
    FLOATING,
    INTEGERS,
    POINTER_DTYPES,
    STATUSES,
    STREAMS,
    SYNONYMS,
    VECTORS,
    Launcher,
    Parameter,
    ParameterKind,
)

# Every pattern here takes time in proportion to the text, however it is written: it is a stranger's.
COMMENT = re.compile(
    r"""(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|//[^\n]*|/\*(?:.*?\*/|.*)""", re.DOTALL
)
C_LINKAGE = re.compile(r"\bextern\s{0,80}\"C\"")
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\.\.\.|\S")
WORD = re.compile(r"[A-Za-z_]\w*\Z")
ALIAS = re.compile(
    r"\btypedef\s{1,9}(?P<old>[\w: ]{1,80}?)\s{1,9}(?P<a>\w{1,80})\s{0,9};"
    r"|\busing\s{1,9}(?P<b>\w{1,80})\s{0,9}=\s{0,9}(?P<new>[\w: ]{1,80}?)\s{0,9};"
    r"|^[ \t]{0,80}#[ \t]{0,9}define[ \t]{1,80}(?P<c>\w{1,80})[ \t]{1,80}(?P<text>[\w: ]{1,80}?)[ \t]{0,80}$",
    re.MULTILINE,
)
QUALIFIERS = frozenset(
    (
        "const",
        "volatile",
        "register",
        "struct",
        "__restrict__",
        "__restrict",
        "restrict",
        "std",
        "::",
        "__grid_constant__",
    )
)
INTEGER_WORDS = frozenset(("signed", "unsigned", "short", "long", "int", "char"))
INTERNAL = frozenset(("static", "inline", "__inline__", "__forceinline__"))
DEVICE_ONLY = frozenset(("__global__", "__device__"))
RESERVED = frozenset(("counters", "reset_counters", "TRAFFIC"))  # names in the generated module


class SignatureError(Exception):
    """A launcher that Python cannot call: the candidate's fault, reported as BuildFailed."""


@dataclass(frozen=True, slots=True)
class _Definition:
    """The parts of a function's definition, as text."""

    name: str
    returns: str
    parameters: str
    where: str
    is_conditional: bool  # inside #if: may be one of several versions


def find_launchers(sources: Mapping[str, str]) -> tuple[Launcher, ...]:
    """All launchers defined in `sources` (path -> text), sorted by name. Raises SignatureError."""
    aliases = _aliases(sources)
    found: dict[str, tuple[Launcher, _Definition]] = {}
    for path, text in sources.items():
        for definition in _definitions(path, text):
            launcher = _launcher(definition, aliases)
            first, other = found.setdefault(launcher.name, (launcher, definition))
            if other is not definition and not _are_alternatives(definition, other):
                raise SignatureError(
                    f"{definition.where}: error: launcher {launcher.name} is already defined at "
                    f"{first.where}; give each launcher a name of its own"
                )
    return tuple(found[name][0] for name in sorted(found))


def _are_alternatives(one: _Definition, other: _Definition) -> bool:
    """Two versions of one launcher, of which the preprocessor takes one; only alike ones can be bound."""
    alike = (one.returns, _bare(one.parameters)) == (other.returns, _bare(other.parameters))
    return one.is_conditional and other.is_conditional and alike


def find_named(sources: Mapping[str, str], name: str) -> Launcher | None:
    """The launcher `name`, known to be in the library, by plain text search. Raises SignatureError."""
    pattern = re.compile(rf"\b{re.escape(name)}\s{{0,9}}\(([^(){{}};]*)\)\s{{0,9}}\{{")
    for path, text in sources.items():
        bare = _without_comments(text)
        for match in pattern.finditer(bare):
            before = bare[max(0, match.start() - 200) : match.start()].split()
            where = f"{path}:{bare.count(chr(10), 0, match.start()) + 1}"
            if before:
                definition = _Definition(name, before[-1], match[1], where, is_conditional=True)
                return _launcher(definition, _aliases(sources))
    return None


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def _without_comments(text: str) -> str:
    """`text` with as many lines, its comments blank."""
    return COMMENT.sub(lambda match: match["literal"] or "\n" * match[0].count("\n") or " ", text)


def _bare(text: str) -> str:
    return " ".join(_without_comments(text).split())


def _aliases(sources: Mapping[str, str]) -> dict[str, str]:
    """Simple typedefs, usings and macros: new name -> what it stands for."""
    found: dict[str, str] = {}
    for text in sources.values():
        for match in ALIAS.finditer(_without_comments(text)):
            name = match["a"] or match["b"] or match["c"]
            found[name] = match["old"] or match["new"] or match["text"]
    return found


def _definitions(path: str, text: str) -> Iterator[_Definition]:
    if not C_LINKAGE.search(text):  # a header, mostly: not worth parsing
        return
    for linkage in _outermost(_parser().parse(text.encode()).root_node, _is_c_linkage):
        for function in _outermost(linkage, lambda node: node.type == "function_definition"):
            definition = _definition(path, function)
            if definition is not None:
                yield definition


def _is_c_linkage(node: Node) -> bool:
    value = node.child_by_field_name("value") if node.type == "linkage_specification" else None
    return value is not None and _text(value) == '"C"'


def _outermost(root: Node, is_wanted: Callable[[Node], bool]) -> Iterator[Node]:
    """Descendants of `root` that are wanted, in the order of the text; none inside another, or in a body.

    Without recursion: a stranger's text may nest as deep as it likes.
    """
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        if is_wanted(node):
            yield node
        elif node.type != "compound_statement":
            waiting += reversed(node.children)


def _definition(path: str, function: Node) -> _Definition | None:
    """None for a kernel, a helper with internal linkage, and what is not understood."""
    declarator = function.child_by_field_name("declarator")
    stars = ""
    while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
        stars += "*" if declarator.type == "pointer_declarator" else "&"
        declarator = declarator.child_by_field_name("declarator") or declarator.named_child(0)
    if declarator is None or declarator.type != "function_declarator":
        return None
    name, parameters = (declarator.child_by_field_name(field) for field in ("declarator", "parameters"))
    kind = function.child_by_field_name("type")
    before = {_text(child) for child in function.children if child.start_byte < declarator.start_byte}
    if name is None or parameters is None or kind is None or not WORD.match(_text(name)):
        return None
    if before & INTERNAL or (before & DEVICE_ONLY and "__host__" not in before):
        return None
    return _Definition(
        name=_text(name),
        returns=_text(kind) + stars,
        parameters=_text(parameters)[1:-1],
        where=f"{path}:{name.start_point[0] + 1}",
        is_conditional=_is_conditional(function),
    )


def _is_conditional(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type.startswith("preproc_"):
            return True
        parent = parent.parent
    return False


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _launcher(definition: _Definition, aliases: Mapping[str, str]) -> Launcher:
    name, where = definition.name, definition.where
    if name in RESERVED or iskeyword(name) or name.startswith("_"):
        raise SignatureError(f"{where}: error: a launcher cannot be named {name!r}; choose another name")
    returns = _spelling(_words(TOKEN.findall(definition.returns)), aliases)
    if returns not in STATUSES:
        raise SignatureError(f"{where}: error: launcher {name} returns {definition.returns}; {ACCEPTED}")
    texts = _split(_without_comments(definition.parameters))
    streams = [i for i, text in enumerate(texts) if _is_stream(text, aliases)]
    if streams and streams != [len(texts) - 1]:
        raise SignatureError(
            f"{where}: error: launcher {name} must take one cudaStream_t, as its last parameter"
        )
    parameters: list[Parameter] = []
    for index, text in enumerate(texts[: len(texts) - len(streams)]):
        parameter = _parameter(text, index, aliases)
        if parameter is None:
            shown = " ".join(text.split())
            raise SignatureError(
                f"{where}: error: launcher {name} takes `{shown}`, which Python cannot pass; {ACCEPTED}"
            )
        parameters.append(parameter)
    names = [parameter.name for parameter in parameters]
    if len(set(names)) != len(names):
        raise SignatureError(f"{where}: error: launcher {name} has two parameters of one name")
    return Launcher(
        name=name, parameters=tuple(parameters), returns=returns, has_stream=bool(streams), where=where
    )


def _split(text: str) -> list[str]:
    """`text` at its top-level commas; empty for `()` and `(void)`."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [] if [part.strip() for part in parts] in ([""], ["void"]) else parts


def _is_stream(text: str, aliases: Mapping[str, str]) -> bool:
    tokens = TOKEN.findall(text.partition("=")[0])
    return "*" not in tokens and any(aliases.get(token, token) in STREAMS for token in tokens)


def _words(tokens: list[str]) -> list[str]:
    return [token for token in tokens if token not in QUALIFIERS]


def _parameter(text: str, index: int, aliases: Mapping[str, str]) -> Parameter | None:
    """None if Python cannot pass it."""
    declaration, _, default = text.partition("=")
    tokens = _words(TOKEN.findall(re.sub(r"\[[^\]]*\]", "*", declaration)))
    is_const = "const" in TOKEN.findall(declaration.partition("*")[0])
    depth = tokens.count("*")
    if depth > 1 or any(not WORD.match(token) for token in tokens if token != "*"):
        return None
    before, after = _around_star(tokens)
    known = _spelling(before, aliases)
    if known is None and len(before) > 1:  # the last word is the parameter's name
        known = _spelling(before[:-1], aliases)
        after = [*after, before[-1]]
    name = after[-1] if after else f"arg{index}"
    name = f"{name}_" if iskeyword(name) or name == "type" or name.startswith("_") else name
    if known is None:
        return None
    return _pointer(name, known, default, is_const=is_const) if depth else _number(name, known)


def _around_star(tokens: list[str]) -> tuple[list[str], list[str]]:
    if "*" not in tokens:
        return tokens, []
    star = tokens.index("*")
    return tokens[:star], tokens[star + 1 :]


def _pointer(name: str, ctype: str, default: str, *, is_const: bool) -> Parameter | None:
    element = VECTORS.get(ctype, (ctype, 0))[0]
    if element not in POINTER_DTYPES or (
        ctype == "void" and name == "stream"
    ):  # declare it as a cudaStream_t
        return None
    return Parameter(
        name=name,
        kind=ParameterKind.POINTER,
        ctype=ctype,
        dtype=next(iter(POINTER_DTYPES[element]), None),
        is_const=is_const,
        is_optional=default.strip() in ("nullptr", "NULL", "0"),
    )


def _number(name: str, ctype: str) -> Parameter | None:
    if ctype in INTEGERS:
        return Parameter(name=name, kind=ParameterKind.INTEGER, ctype=ctype, dtype=None)
    return (
        Parameter(name=name, kind=ParameterKind.FLOATING, ctype=ctype, dtype=None)
        if ctype in FLOATING
        else None
    )


def _spelling(words: list[str], aliases: Mapping[str, str]) -> str | None:
    """The one spelling this project uses of a type, None if it is none that Python can pass."""
    if not words:
        return None
    if set(words) <= INTEGER_WORDS:
        return _integer(words)
    if len(words) != 1:
        return None
    word = words[0]
    for _ in range(4):  # an alias of an alias; a cycle ends here
        if word not in aliases:
            break
        expanded = _words(TOKEN.findall(aliases[word]))
        if len(expanded) != 1 or set(expanded) <= INTEGER_WORDS:
            return _spelling(expanded, {})
        word = expanded[0]
    word = SYNONYMS.get(word, word)
    known = word in POINTER_DTYPES or word in VECTORS or word in FLOATING or word in STATUSES
    return word if known else None


def _integer(words: list[str]) -> str | None:
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return "signed char" if "signed" in words else f"{sign}char"
    for size in ("short", "long"):
        if size in words:
            return f"{sign}{size if size == 'short' else 'long long'}"
    return f"{sign}int"
