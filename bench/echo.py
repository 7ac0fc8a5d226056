"""A unary gRPC echo in a process of its own: the peer of calls to the sidecar.

It does nothing but answer with as many bytes as the request asks for in its first eight, on the
same kind of server that the sidecar runs.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from bench.sidecar import clean_environment

PATH = "/bench.Echo/Echo"
LARGEST = 1024 * 1024
_PROJECT = Path(__file__).resolve().parent.parent


def request(size: int, answer: int) -> bytes:
    """A request of this size for an answer of that size."""
    return answer.to_bytes(8, "big").ljust(size, b"\0")


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """The address of an echo server that runs as long as the block."""
    address = f"unix:{directory}/e"
    with subprocess.Popen(
        [sys.executable, "-m", "bench.echo", address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=_PROJECT,
        env=clean_environment(),
    ) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError("the echo server did not start")
            yield address
        finally:
            process.terminate()


async def serve(address: str) -> None:
    """Answers until the process ends."""
    zeros = bytes(LARGEST)

    async def echo(asked: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        return zeros[: int.from_bytes(asked[:8], "big")]

    server = grpc.aio.server()
    service, method = PATH.strip("/").split("/")
    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(echo)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {method: handler}),)
    )
    server.add_insecure_port(address)
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
