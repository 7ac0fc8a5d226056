"""The sidecar as a user who is not root, also when root runs the tests."""

import asyncio
import os
import sys

# Read before the rights to read it may be gone.
from seamark_sidecar.app import serve
from seamark_sidecar.model.errors import SidecarError
from seamark_sidecar.settings import Settings

NOBODY = 65534

if __name__ == "__main__":
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        asyncio.run(serve(Settings.from_env(os.environ)))
    except SidecarError as error:
        sys.exit(str(error))
