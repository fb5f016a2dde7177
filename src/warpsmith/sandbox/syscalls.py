"""A filter of system calls: what a program under judgement never needs, and what breaks out of sandboxes.

The filter is a classic BPF program over `struct seccomp_data`, for the kernel's seccomp. It allows what it
does not name. What it names fails with an errno and not with a signal: a library that only tries goes on.
"""

import errno
import platform
import struct
from functools import cache
from typing import Final

# The kernel's own constants.
AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Name, number on x86_64, number on aarch64. A dash: not there.
DENIED: Final = """
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272, pidfd_getfd 438
    438, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, bpf 321 280,
    userfaultfd 323 282, perf_event_open 298 241, keyctl 250 219, add_key 248 217, request_key 249 218,
    setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428,
    move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr
    442 442, open_by_handle_at 304 265, fanotify_init 300 262, kexec_load 246 104, kexec_file_load 320
    294, init_module 175 105, finit_module 313 273, delete_module 176 106, reboot 169 142, swapon 167 224,
    swapoff 168 225, acct 163 89, quotactl 179 60, syslog 103 116, sethostname 170 161, setdomainname 171
    162, settimeofday 164 170, clock_settime 227 112, iopl 172 -, ioperm 173 -
"""
EXAMINED: Final = "clone 56 220, unshare 272 97, clone3 435 435, socket 41 198"

NEW_NAMESPACES: Final = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
X32_CALLS: Final = 0x40000000  # a second set of numbers on x86_64
AF_UNIX: Final = 1
# Offsets in struct seccomp_data; the last one is of the first argument's lower half.
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, 16

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000


@cache
def filter_program(*, has_sockets: bool) -> bytes:
    """The BPF program for this machine; empty for an architecture whose numbers we don't know.

    Without `has_sockets` a program gets sockets of the Unix domain alone. Profilers and sanitizers need more:
    they talk to what they watch over the loopback device.
    """
    machine = platform.machine()
    return _program(machine, has_sockets=has_sockets) if machine in AUDIT else b""


def _numbers(table: str, machine: str) -> dict[str, int]:
    rows = (row.split() for row in table.split(","))
    column = list(AUDIT).index(machine) + 1
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _program(machine: str, *, has_sockets: bool) -> bytes:
    denied = FAIL | errno.EPERM
    examined = _numbers(EXAMINED, machine)
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, AUDIT[machine]),  # calls of another architecture have other numbers
        (RETURN, 0, 0, denied),
        (LOAD, 0, 0, NUMBER),
        *(_if(AT_LEAST, X32_CALLS, denied) if machine == "x86_64" else ()),
        # Its flags lie in memory, where a filter can't look; told that it is missing, libraries use clone.
        *_if(EQUAL, examined["clone3"], FAIL | errno.ENOSYS),
        *(line for number in _numbers(DENIED, machine).values() for line in _if(EQUAL, number, denied)),
        *_if_argument(examined["clone"], (ANY_BIT, 0, 1, NEW_NAMESPACES), denied),
        *_if_argument(examined["unshare"], (ANY_BIT, 0, 1, NEW_NAMESPACES), denied),
        *(
            ()
            if has_sockets
            else _if_argument(examined["socket"], (EQUAL, 1, 0, AF_UNIX), FAIL | errno.EACCES)
        ),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


Line = tuple[int, int, int, int]  # operation, lines to skip if so and if not, operand


def _if(test: int, operand: int, result: int) -> list[Line]:
    """Of the number, which has been loaded."""
    return [(test, 0, 1, operand), (RETURN, 0, 0, result)]


def _if_argument(number: int, test: Line, result: int) -> list[Line]:
    """For this call: look at its first argument; `test` skips a line where that is harmless."""
    return [
        (EQUAL, 0, 4, number),
        (LOAD, 0, 0, ARGUMENT),
        test,
        (RETURN, 0, 0, result),
        (RETURN, 0, 0, ALLOW),
    ]
