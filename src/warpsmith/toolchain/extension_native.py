"""Writes `cuda_extension.py` for programs that bring their own bindings: it loads what was built of them."""

from string import Template

from warpsmith.toolchain.extension import GUARD

HEAD = Template('''\
"""The program's own extension modules, which lie beside this file.

$what
"""

import ctypes
import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import torch
$guard
_FOLDER = Path(__file__).parent
_MODULES = $modules  # key -> file, name of the module in it


def _load(key):
    """The extension module under `key`."""
    file, name = _MODULES[key]
    loader = importlib.machinery.ExtensionFileLoader(name, str(_FOLDER / file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def _public(module):
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}

''')

COUNTED = '''
class _Traffic:
    """What the functions were given since the last reset, and gave back."""

    bytes_touched = 0


TRAFFIC = _Traffic()


class _Libraries:
    """Several libraries as one: a function is called in each, and the first answer counts."""

    def __init__(self, libraries):
        self._all = libraries

    def __getattr__(self, name):
        functions = [getattr(library, name) for library in self._all]

        def call(*arguments):
            answers = [function(*arguments) for function in functions]
            return next((answer for answer in answers if answer), None)

        return call


_libraries = [ctypes.CDLL(str(_FOLDER / file)) for file, _ in _MODULES.values()]
_library = _libraries[0] if len(_libraries) == 1 else _Libraries(_libraries)


def counters():
    """Since the last reset: bytes of the tensors passed, kernels launched, operations of library calls."""
    totals = [0, 0, 0, 0]
    for library in _libraries:
        counts = (ctypes.c_longlong * 4)()
        library.warpsmith_counters_read(counts)
        totals = [total + count for total, count in zip(totals, counts)]
    return {"bytes": TRAFFIC.bytes_touched, "launches": totals[0], "library_flops": totals[2]}


def reset_counters():
    TRAFFIC.bytes_touched = 0
    for library in _libraries:
        library.warpsmith_counters_reset()


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _wrapped(name, function):
    if isinstance(function, type) or not callable(function):
        return function

    def call(*args, **kwargs):
        answer = function(*args, **kwargs)
        seen = {one.data_ptr(): one.nbytes for one in _tensors((args, tuple(kwargs.values()), answer))}
        TRAFFIC.bytes_touched += sum(seen.values())
        return answer

    call.__name__ = name
    call.__doc__ = function.__doc__
    return call

'''
PLAIN = """
def _wrapped(name, function):
    return function

"""

WHOLE = """
globals().update({name: _wrapped(name, value) for name, value in _public(_load("")).items()})
"""

BY_KEY = '''
class _Handed(ModuleType):
    """What load_inline gives: its functions are looked up each time, as a watcher may replace them."""

    def __init__(self, key, names):
        super().__init__(_MODULES[key][1])
        self.__dict__.update({"_key": key, "_names": names})

    def __getattr__(self, name):
        if name not in self._names:
            raise AttributeError(f"the extension has no function {name}; it has {', '.join(self._names)}")
        return globals()[f"inline_{self._key}_{name}"]

    def __dir__(self):
        return sorted(self._names)


_handed = {}


def _prebuilt(key):
    """The module that was built for a call of load_inline or load; None if none was."""
    if key not in _handed and key in _MODULES:
        found = _public(_load(key))
        wrapped = {name: _wrapped(name, value) for name, value in found.items()}
        globals().update({f"inline_{key}_{name}": value for name, value in wrapped.items()})
        _handed[key] = _Handed(key, tuple(found))
    return _handed.get(key)
'''


def native_source(modules: dict[str, tuple[str, str]], device_kind: str, *, is_whole: bool) -> str:
    """The text of `cuda_extension.py` over `modules`: key -> file, name of the module in it.

    `is_whole`: there is one, under the empty key, and its functions are this module's own. Otherwise they
    are handed out by key.
    """
    what = (
        "Its functions are those that the program's bindings registered."
        if is_whole
        else "Each was asked for by a call of load_inline or load, whose key is made of its arguments."
    )
    is_cuda = device_kind == "cuda"
    head = HEAD.substitute(what=what, guard=GUARD if is_cuda else "", modules=repr(modules))
    return head + (PLAIN if is_cuda else COUNTED) + (WHOLE if is_whole else BY_KEY)
