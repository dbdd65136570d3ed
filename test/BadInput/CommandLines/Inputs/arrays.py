"""Writes valid and invalid .npy files into a folder."""

import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
good = np.zeros((1, 2, 8, 32), np.uint16)
np.save(folder / "good.npy", good)
np.save(folder / "rank.npy", good[0])
np.save(folder / "head-dim.npy", np.zeros((1, 2, 8, 16), np.uint16))
np.save(folder / "batch.npy", np.zeros((3, 2, 8, 32), np.uint16))
np.save(folder / "float.npy", good.astype(np.float32))
np.save(folder / "text.npy", np.array(["attention"]))
np.save(folder / "fortran.npy", np.asfortranarray(np.zeros((1, 2, 8, 32), np.uint16)))
np.save(folder / "empty.npy", good[:, :, :0])
np.save(folder / "big-endian.npy", good.astype(">u2"))
whole = (folder / "good.npy").read_bytes()
(folder / "truncated.npy").write_bytes(whole[:-100])
(folder / "header-only.npy").write_bytes(whole[:20])
(folder / "nothing.npy").write_bytes(b"")
(folder / "not-npy.npy").write_bytes(b"PK\x03\x04" + whole)
(folder / "garbage-header.npy").write_bytes(whole.replace(b"'descr'", b"(((((((" ))
# A header that promises 10^12 elements, and no data.
huge = whole.replace(b"(1, 2, 8, 32)", b"(1, 2, 15625000000, 32)".ljust(13))
length = len(whole[10:128]) + len(huge) - len(whole)
(folder / "huge.npy").write_bytes(huge[:8] + length.to_bytes(2, "little") + huge[10:])
(folder / "negative.npy").write_bytes(whole.replace(b"(1, 2, 8, 32)", b"(1,-2,-8, 32)"))
