#!/bin/sh
# Makes .venv with everything that `make` needs; does nothing when it is there already.
set -eu
cd "$(dirname "$0")/.."
python=$(scripts/python.sh)
exec "$python" scripts/environment.py .venv --editable '.[dev]' \
    --compile sdk --compile sidecar --compile adapters --compile examples --compile bench
