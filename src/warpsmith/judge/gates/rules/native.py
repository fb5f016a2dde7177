"""The hard rules for a candidate's CUDA and C++, in files or in the strings of a single-file program.

A place that tree-sitter cannot read says nothing: it does not know all of CUDA. Most of what native code does
is seen more surely among the symbols of the build.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from warpsmith.core import Candidate
from warpsmith.core.syntax import parsed
from warpsmith.judge.gates.rules.source import Finding

COMMENT = re.compile(
    r"""(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|//[^\n]*|/\*(?:.*?\*/|.*)""", re.DOTALL
)
SPLICE = re.compile(r"\\[ \t]*\n")
INCLUDE = re.compile(
    r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import|embed)\b[ \t]*(?P<what>[^\n]*)", re.MULTILINE
)
TARGET = re.compile(r"""["<](?P<path>[^">\n]*)[">]""")
HAS = re.compile(r"""__has_(?:include|embed)\w*\s*\(\s*["<](?P<path>[^">\n]*)[">]""")
STRINGS = re.compile(r'"(?P<text>(?:\\.|[^"\\\n])*)"')
ESCAPE = re.compile(r"\\(?:x(?P<hex>[0-9a-fA-F]{1,4})|(?P<octal>[0-7]{1,3}))")
RAW = re.compile(r'R"(?P<mark>[^()\\\s]{0,16})\((?P<text>.*?)\)(?P=mark)"', re.DOTALL)
EMBEDDING = re.compile(r"\.\s*(incbin|include)\b")
ENTERING = re.compile(r"\b(syscall|sysenter)\b|\bint\s+\$?0x80\b")
ATTRIBUTE = re.compile(
    r"(?:__attribute__|__attribute)\s*\(\s*\(|\[\[\s*gnu\s*::|\[\[\s*using\s+gnu|__declspec\s*\("
)
EARLY = re.compile(r"\b_{0,2}(constructor|destructor|ifunc|init_priority|section)_{0,2}\b")
OURS = re.compile(r"\bwarpsmith\w*")
CALLS = re.compile(
    r"(system|popen|v?fork|exec[lv]p?e?|execvpe|posix_spawnp?|dlm?open|dlv?sym|ptrace|mprotect|socket|"
    r"process_vm_\w+|syscall|cudaMallocManaged|cuMemAllocManaged|cudaIpc\w+|cuIpc\w+|cudaLaunchHostFunc|"
    r"cudaStreamAddCallback|cuModuleLoad\w*|cudaLibraryLoad\w+|nvrtc\w+|cudaDeviceReset|pthread_create)\Z"
)
# A function with its body; parameters may be functions themselves.
DEFINED = re.compile(r"\b(\w+)\s*\((?:[^;{}()]|\([^;{}()]*\))*\)\s*(?:noexcept\s*)?\{")
SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp")
CUDA_TEXT = ("__global__", "#include", "PYBIND11_MODULE", "torch::Tensor")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of CUDA or C++: a file, or a string in a Python file that begins at `first_line`."""

    path: str
    text: str  # without comments, with continued lines joined by keeping their line breaks elsewhere
    first_line: int
    siblings: Mapping[str, str]

    def line(self, offset: int) -> int:
        return self.first_line + self.text.count("\n", 0, offset)


@dataclass(frozen=True, slots=True)
class Rule:
    """A name to be told by, and how to find breaches."""

    name: str
    find: Callable[[Part], Iterator[Finding]]


def parts(candidate: Candidate) -> Iterator[Part]:
    """All CUDA and C++ of a candidate."""
    files = dict(candidate.files)
    for path, text in candidate.files:
        if path.endswith(SUFFIXES):
            yield Part(path, _plain(text), 1, files)
        elif path.endswith(".py"):
            yield from _embedded(path, text, files)


def _embedded(path: str, python: str, files: Mapping[str, str]) -> Iterator[Part]:
    try:
        nodes = list(ast.walk(parsed(python)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if any(mark in text for mark in CUDA_TEXT):
            yield Part(path, _plain(text), getattr(node, "lineno", 1), files)


def _plain(text: str) -> str:
    """Without comments and continued lines, each line where it was as far as that goes."""
    joined = SPLICE.sub("", text)
    return COMMENT.sub(lambda m: m["literal"] or " " + "\n" * m[0].count("\n"), joined)


def _includes(part: Part) -> Iterator[Finding]:
    folder = PurePosixPath(part.path).parent
    for match in INCLUDE.finditer(part.text):
        target = TARGET.match(match["what"])
        if target is None:
            message = "an #include must name its file: one that is computed could be any file of the machine"
            yield Finding(part.line(match.start()), message)
        elif _leaves(folder, target["path"]):
            message = f'"{target["path"]}" lies outside of the candidate'
            yield Finding(part.line(match.start()), message)
    for match in HAS.finditer(part.text):
        if _leaves(folder, match["path"]):
            yield Finding(part.line(match.start()), f'"{match["path"]}" lies outside of the candidate')


def _leaves(folder: PurePosixPath, path: str) -> bool:
    """Whether a path leads out of the candidate's folder. Steps upwards within it are allowed."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or "\\" in path:
        return True
    depth = len(folder.parts)
    for step in pure.parts:
        depth += -1 if step == ".." else 1
        if depth < 0:
            return True
    return False


def _assembly(part: Part) -> Iterator[Finding]:
    raw = [(match.start(), match["text"]) for match in RAW.finditer(part.text)]
    for start, text in [*raw, *_strings(part.text)]:
        if found := EMBEDDING.search(text):
            yield Finding(part.line(start), f"`{found[0]}` puts a file into the program")
    for node in _nodes(part, "gnu_asm_expression"):
        text = (node.text or b"").decode(errors="replace")
        if found := ENTERING.search(text):
            message = f"`{found[0]}` calls the system's kernel; PTX in device code is all that is needed"
            yield Finding(_line(part, node), message)


def _strings(text: str) -> Iterator[tuple[int, str]]:
    """Where each string begins, and what it says: neighbours are one, and numbered characters are written."""
    start, end, said = 0, -1, ""
    for match in STRINGS.finditer(text):
        if end >= 0 and not text[end : match.start()].strip():
            said += match["text"]
        else:
            yield start, ESCAPE.sub(_character, said)
            start, said = match.start(), match["text"]
        end = match.end()
    yield start, ESCAPE.sub(_character, said)


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape["hex"], 16) if escape["hex"] else int(escape["octal"], 8))


def _early(part: Part) -> Iterator[Finding]:
    for match in ATTRIBUTE.finditer(part.text):
        if found := EARLY.search(
            part.text[match.end() : match.end() + 200].partition("]]")[0].partition("))")[0]
        ):
            message = (
                f"`{found[0]}`: no launcher needs code that runs by itself or stands in a place of its own"
            )
            yield Finding(part.line(match.start()), message)


def _reaching(part: Part) -> Iterator[Finding]:
    defined = {name for text in part.siblings.values() for name in DEFINED.findall(text)}
    for node in _nodes(part, "call_expression"):
        function = node.child_by_field_name("function")
        if function is None or function.type not in ("identifier", "qualified_identifier"):
            continue
        spelled = (function.text or b"").decode(errors="replace").replace(" ", "")
        scope, _, name = spelled.rpartition("::")
        if scope in ("", "std") and CALLS.match(name) and name not in defined:
            message = f"`{name}` may not be called: a program deals with its tensors and its device alone"
            yield Finding(_line(part, node), message)
    if found := OURS.search(part.text):
        yield Finding(part.line(found.start()), f"`{found[0]}` is the judge's own")


RULES = (
    Rule("include", _includes),
    Rule("assembly", _assembly),
    Rule("early-code", _early),
    Rule("reach", _reaching),
)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def _nodes(part: Part, kind: str) -> Iterator[Node]:
    """All nodes of a kind that tree-sitter is sure of."""
    todo = [_parser().parse(part.text.encode(errors="replace")).root_node]
    while todo:
        node = todo.pop()
        if node.type == kind:
            yield node
        todo.extend(reversed(node.children))


def _line(part: Part, node: Node) -> int:
    return part.first_line + node.start_point[0]
