"""Runs a program at a terminal of its own, and passes on what is typed and what is shown.

Usage: pty.py COLUMNS ROWS UID PROGRAM ARGUMENTS…
UID is whose program it is; with - it stays that of whoever calls. Standard input is what is typed; standard output is what the terminal shows, byte for byte. When standard input ends,
nothing more is typed; when the program ends, so does this, with its exit code.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios


def main():
    columns, rows, uid, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    child, terminal = pty.fork()
    if child == 0:
        # Before the program looks: a size that comes later would be a resize.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if uid != "-":
            os.setgroups([])
            os.setgid(int(uid))
            os.setuid(int(uid))
        os.execv(command[0], command)
    typing = [0]
    while True:
        ready, _, _ = select.select([terminal] + typing, [], [])
        if 0 in ready:
            typed = os.read(0, 4096)
            if typed:
                os.write(terminal, typed)
            else:
                typing = []
        if terminal in ready:
            try:
                shown = os.read(terminal, 65536)
            except OSError:
                shown = b""
            if not shown:
                break
            os.write(1, shown)
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


main()
