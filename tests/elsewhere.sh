#!/usr/bin/env bash
# The tests as another user than root, in a drawn order, in another language and time zone, and without a network:
#
#     sudo tests/elsewhere.sh [SEED] [pytest's arguments]
#
# Linux, as root, which makes namespaces of its own for it; python is the one on the path.
set -euo pipefail

seed=${1:-0}
python=$(python -c 'import os, sys; print(os.path.realpath(sys.executable))')
environment=$(python -c 'import sys; print(sys.prefix)')
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
chown nobody "$home"
export home python environment seed
# Within its own namespaces the interpreter's folder can be entered even where it lies in root's home.
unshare --mount --net bash -euo pipefail -c '
  ip link set lo up
  if [[ $python == /root/* ]]; then
    place=$(dirname "$(dirname "$python")")
    mkdir "$home/python" && mount --bind "$place" "$home/python"
    mount -t tmpfs -o mode=755 tmpfs /root
    mkdir -p "$place" && mount --bind "$home/python" "$place"
  fi
  runuser -u nobody -- env -i HOME="$home" TMPDIR="$home" PATH="$environment/bin:/usr/local/bin:/usr/bin:/bin" \
    LANG=C LC_ALL=C TZ=Asia/Kolkata OMP_NUM_THREADS=1 \
    python -m pytest -p no:cacheprovider --shuffle "$seed" "$@"
' bash "${@:2}"
