"""A worker program for the tests: answers, dawdles, dies, and talks nonsense when asked to."""

import os
import sys
import time

from seamark_sidecar.workers import frames, program


def main() -> None:
    program.end_with_parent()
    channel = program.channel_from(sys.argv)
    hoard = []

    def garbage(length: int) -> None:
        channel.sendall(frames.HEADER.pack(length, 1) + b"\xc1" * min(length, 100))

    def fail() -> None:
        raise ValueError("no such thing")

    program.serve(
        channel,
        {
            "echo": lambda value: value,
            "sleep": lambda seconds: time.sleep(seconds),
            "die": lambda: os._exit(3),
            "garbage": garbage,
            "fail": fail,
            "pid": os.getpid,
            "hoard": lambda size: hoard.append(bytearray(os.urandom(1) * size)),
        },
    )


if __name__ == "__main__":
    main()
