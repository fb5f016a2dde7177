"""Open files, handed to a process elsewhere over a socket in a folder that both see.

Standard library alone: inside the sandbox this is imported by path, before anything else.
"""

import array
import marshal
import os
import socket

MAX_FDS = 32
MESSAGE_BYTES = 4096
ASIDE = 512  # received files are moved there first, out of the way of their final numbers


def give(listener: socket.socket, fds: dict[int, int], wait_s: float) -> None:
    """Let the first who connects have our file `fds[number]` under each `number`.

    Raises OSError if nobody comes within `wait_s`.
    """
    listener.settimeout(wait_s)
    connection, _ = listener.accept()
    with connection:
        files = array.array("i", fds.values())
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)]
        connection.sendmsg([marshal.dumps(tuple(fds))], ancillary)


def take(path: str) -> None:
    """Take the files that are given at `path`, each under its number."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        received = array.array("i")
        room = socket.CMSG_SPACE(MAX_FDS * received.itemsize)
        message, ancillary, _, _ = connection.recvmsg(MESSAGE_BYTES, room)
        for _, _, data in ancillary:
            received.frombytes(data)
    aside = []
    for index, fd in enumerate(received):
        os.dup2(fd, ASIDE + index)
        os.close(fd)
        aside.append(ASIDE + index)
    for number, fd in zip(marshal.loads(message), aside, strict=True):
        os.dup2(fd, number)
        os.close(fd)
