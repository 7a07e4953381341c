"""Archives with sorted names and no times or owners, so that only Spark's own ids make them differ."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pyarrow as pa

LEVEL = 19


def compress(data: bytes, level: int = LEVEL) -> bytes:
    """One zstd frame."""
    return pa.Codec("zstd", compression_level=level).compress(data, asbytes=True)


def is_sidecar(path: Path) -> bool:
    """Hadoop's own `.name.crc` (not Spark's `name.crc`)."""
    return path.name.startswith(".") and path.name.endswith(".crc")


def pack(checkpoint: Path, target: Path, keep_crc: bool) -> None:
    """Write `checkpoint` as the single top directory `checkpoint/` of `target` (.tar.zst)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(_directory("checkpoint"))
        for path in sorted(checkpoint.rglob("*")):
            if is_sidecar(path) and not keep_crc:
                continue
            name = "checkpoint/" + path.relative_to(checkpoint).as_posix()
            if path.is_dir():
                tar.addfile(_directory(name))
                continue
            data = path.read_bytes()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(data))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(compress(buffer.getvalue()))


def _directory(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    info.mode = 0o755
    return info


def expand(data: bytes) -> bytes:
    """The inverse of `compress`."""
    return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
