"""A .npz of 0.7 MB from somebody else that unpacks to 700 MB of zeros. SECURITY.md: "Files from other people take no more
memory than their size allows." Right: refused, or at most 256 MB (which datasets/bounds.py permits any file) or 100 times its size. Wrong: more."""
import os, resource, sys, tempfile, zipfile, io
from pathlib import Path
import numpy as np
from numpy.lib import format as npy
from qwop.common.errors import BadInput
from qwop.datasets.exchange.imported import ImportDefaults
from qwop.datasets.exchange.tables import read
from qwop.envs.spec import EnvironmentSpec
work = Path(tempfile.mkdtemp()); rows = 700_000_000 // 16
path = work / "x.npz"
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    def put(name, shape, dtype):
        with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
            head = io.BytesIO(); npy.write_array_header_1_0(head, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}); file.write(head.getvalue())
            left = int(np.prod(shape)) * np.dtype(dtype).itemsize
            while left > 0: file.write(bytes(min(left, 1 << 22))); left -= 1 << 22 if left > 1 << 22 else left
    put("observations", (rows, 4), np.float32); put("actions", (10,), np.int64); put("rewards", (10,), np.float32)
size = path.stat().st_size
def peak():
    pid = os.fork()
    if pid == 0:
        try: [*read(path, ImportDefaults(player="x", epsilon=0.05, environment=EnvironmentSpec("CartPole-v1")), {}).episodes]
        except BadInput as error: print("   refused:", str(error).replace(str(work), "")[:110])
        os._exit(0)
    return os.wait4(pid, 0)[2].ru_maxrss * 1024
def base():
    pid = os.fork()
    if pid == 0: os._exit(0)
    return os.wait4(pid, 0)[2].ru_maxrss * 1024
took = peak() - base(); wrong = took > max(300e6, 100 * size)
print(f"{'wrong' if wrong else 'right'}: {size / 1e6:.2f} MB took {took / 1e6:.0f} MB, {took / size:.0f} times its size"); sys.exit(wrong)
