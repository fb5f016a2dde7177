"""What a candidate may not do is refused when it is done, however it came by the means."""

import collections
import subprocess
import sys
import threading

import pytest

from warpsmith.judge.guest.trespass import Trespass, guard

ACTS = {
    "a thread": "import threading; threading.Thread(target=print).start()",
    "a thread from below": "import _thread; _thread.start_new_thread(print, ())",
    "a process": "import subprocess; subprocess.run(['true'])",
    "a fork": "import os; os.fork()",
    "a shell": "import os; os.system('true')",
    "a signal": "import os; os.kill(os.getpid(), 0)",
    "a socket": "import socket; socket.socket().close()",
    "frames": "import sys; sys._getframe()",
    "all frames": "import sys; sys._current_frames()",
    "a trace": "import sys; sys.settrace(None)",
    "objects": "import gc; gc.get_objects()",
    "a library": "import ctypes; ctypes.pythonapi._FuncPtr(('Py_GetVersion', ctypes.pythonapi))",
}


def run(folder, text):
    exec(compile(text, str(folder / "model_new.py"), "exec"), {})


@pytest.mark.parametrize("text", ACTS.values(), ids=ACTS)
def test_an_act_is_refused_to_a_candidate(tmp_path, text):
    guard(tmp_path)
    with pytest.raises(Trespass):
        run(tmp_path, text)


def test_the_same_is_allowed_to_others(tmp_path):
    guard(tmp_path / "candidate")
    for name, text in ACTS.items():
        if name != "a fork":
            run(tmp_path / "ours", text)
    assert sys._getframe() is not None
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    subprocess.run(["true"], check=True)


def test_a_candidate_may_use_what_does_such_things_for_itself(tmp_path):
    guard(tmp_path)
    run(tmp_path, "import collections, dataclasses; collections.namedtuple('P', 'x y'); import warnings")
    assert collections.namedtuple("P", "x y") is not None
