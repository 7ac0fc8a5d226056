#!/bin/sh
# Prints a Python of at least 3.11, or says what is missing.
# With an argument: one that is also older than that version. PYTHON=... chooses it by hand.
set -eu
below=${1:-99.0}
fits='import sys; v = sys.argv[1].split("."); sys.exit(not (3, 11) <= sys.version_info[:2] < (int(v[0]), int(v[1])))'

for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if "$candidate" -c "$fits" "$below" >/dev/null 2>&1; then
        command -v "$candidate"
        exit 0
    fi
done

range="3.11 or newer"
[ "$below" = 99.0 ] || range="$range, older than $below,"
echo "seamark: needs Python $range as ${PYTHON:-python3}, and found none." >&2
echo "seamark: install one, or name it: make PYTHON=/path/to/python3 ..." >&2
exit 1
