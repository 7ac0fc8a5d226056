#!/bin/sh
# Writes the Python stubs of proto/ into sdk/. With --check: says whether the committed ones differ.
set -eu
cd "$(dirname "$0")/.."

case "${1:-}" in
"" | --check) ;;
*)
    echo "usage: scripts/proto.sh [--check]" >&2
    exit 2
    ;;
esac

no_generator() {
    if [ "${1:-}" = --check ] && [ "${CI:-}" != true ]; then
        echo "seamark: the stubs were NOT checked: their generator cannot be installed here" >&2
        exit 0
    fi
    exit 1
}

# Pinned low on purpose: docs/decisions/0002-generator-pin.md. The generator needs pkg_resources,
# which later setuptools no longer have, and there is none for Python 3.14.
python=$(scripts/python.sh 3.14 2>/dev/null || PYTHON='' scripts/python.sh 3.14) ||
    no_generator "$@"
status=0
"$python" scripts/environment.py .venv-proto --wheels-only \
    'grpcio-tools==1.71.2' 'mypy-protobuf==3.6.0' 'protobuf>=5.29,<6' 'setuptools<81' || status=$?
# 75: the package index is out of reach.
[ "$status" != 75 ] || no_generator "$@"
[ "$status" = 0 ] || exit "$status"

generate() {
    .venv-proto/bin/python -m grpc_tools.protoc -I proto \
        --plugin=protoc-gen-mypy=.venv-proto/bin/protoc-gen-mypy \
        --plugin=protoc-gen-mypy_grpc=.venv-proto/bin/protoc-gen-mypy_grpc \
        --python_out="$1" --grpc_python_out="$1" --mypy_out="quiet:$1" --mypy_grpc_out="quiet:$1" \
        proto/seamark/wire/v1/*.proto
}

if [ "${1:-}" = --check ]; then
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    generate "$fresh"
    # The packages' own __init__.py are written by hand.
    if ! diff -r -u -x __pycache__ -x __init__.py sdk/seamark/wire "$fresh/seamark/wire"; then
        echo "seamark: the stubs in sdk/seamark/wire differ from proto/; run: make proto" >&2
        exit 1
    fi
else
    generate sdk
    echo "seamark: stubs written to sdk/seamark/wire/v1" >&2
fi
