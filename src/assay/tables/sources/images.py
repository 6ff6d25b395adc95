"""A folder of images as a source: a subfolder a class, a row an image, a column a pixel. Images are read as they are needed.

    pictures/cat/1.png  pictures/cat/2.png  pictures/dog/1.png

Columns: `class` (the subfolder), then p0_0, p0_1, … (row_column, 0–255) for grey images; for colours p0_0_r, p0_0_g, p0_0_b, ….
All images are brought to one size, `size` = (height, width) or the one that most of the first images have, and to grey where
all of those are grey, else to colours. The rows are ordered by class and file name.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.errors import DataError, ParameterError, install
from assay.tables.sources.source import Reading, Source, check_known
from assay.tables.sources.text import in_order

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".pgm", ".ppm", ".pbm", ".pnm"})
SAMPLED = 200
MOST_COLUMNS = 1 << 16
BYTES_AT_ONCE = 1 << 23
GREY = ("1", "L", "LA", "I", "I;16", "F")


def image_files(folder: Path) -> list[Path]:
    """The images in the subfolders, by class and name."""
    classes = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    return [f for c in classes for f in sorted(c.rglob("*")) if f.suffix.lower() in ENDINGS and f.is_file()]


class ImageFolder(Source):
    """The images of a folder."""

    def __init__(self, folder: Path, size: tuple[int, int] | None = None, where: str | None = None) -> None:
        self.where = where or repr(str(folder))
        self._folder, self._files = folder, image_files(folder)
        if not self._files:
            raise DataError(f"{self.where} has no subfolders with images: give it one a class.")
        if size is not None and (len(size) != 2 or any(int(s) != s or s < 1 for s in size)):
            raise ParameterError(f"size={size!r} is not possible: it is (height, width) in pixels.")
        sampled = [_size_and_mode(f) for f in self._files[:: -(-len(self._files) // SAMPLED)]]
        self.size = size or Counter(shape for shape, _ in sampled).most_common(1)[0][0]
        self.mode = "L" if all(mode in GREY for _, mode in sampled) else "RGB"
        height, width = self.size
        colours = [""] if self.mode == "L" else ["_r", "_g", "_b"]
        if height * width * len(colours) > MOST_COLUMNS:
            raise DataError(
                f"The images of {self.where} have {height} × {width} pixels, more than {MOST_COLUMNS} columns: give a "
                "smaller size=(height, width)."
            )
        pixels = [f"p{i}_{j}{c}" for i in range(height) for j in range(width) for c in colours]
        self._place = {name: k for k, name in enumerate(pixels)}
        self.types = {"class": pa.string(), **dict.fromkeys(pixels, pa.uint8())}
        self.n_rows = len(self._files)
        others = {shape for shape, _ in sampled} - {self.size}
        self.notes = [f"Images of {self.where} are resized to {height} × {width} pixels."] if others else []

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        check_known(columns, self.types, "it is to be read", self.where)
        step = max(1, min(size, BYTES_AT_ONCE // len(self._place)))
        groups = (self._files[a : a + step] for a in range(0, len(self._files), step))
        for _, batch in in_order(lambda files: self._batch(files, list(columns)), groups):
            yield batch.result()

    def _batch(self, files: list[Path], names: list[str]) -> Any:
        wanted = [self._place[name] for name in names if name in self._place]
        pixels = np.empty((len(wanted), len(files)), np.uint8)
        for i, file in enumerate(files if wanted else []):
            pixels[:, i] = self._pixels(file)[wanted]
        rows = iter(pixels)
        classes = [file.relative_to(self._folder).parts[0] for file in files]
        return pa.record_batch({n: pa.array(next(rows) if n in self._place else classes) for n in names})

    def _pixels(self, file: Path) -> Any:
        from PIL import Image

        height, width = self.size
        with _opened(file) as image, _explained(file):
            image = _eight_bits(image).convert(self.mode)
            if image.size != (width, height):
                image = image.resize((width, height), Image.Resampling.BILINEAR)
            return np.asarray(image).reshape(-1)


def _eight_bits(image: Any) -> Any:
    """Images of 16 bits a pixel scaled to 8: Pillow would cut them off at 255."""
    if image.mode.startswith("I") and np.asarray(image).max(initial=0) > 255:
        from PIL import Image

        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    return image


def _size_and_mode(file: Path) -> tuple[tuple[int, int], str]:
    """((height, width), mode) of an image, from its first bytes."""
    with _opened(file) as image, _explained(file):
        return (image.height, image.width), "L" if image.mode == "P" and _all_grey(image) else image.mode


def _all_grey(image: Any) -> bool:
    colours = np.asarray(image.convert("RGB")).reshape(-1, 3)
    return bool((colours == colours[:, :1]).all())


def _opened(file: Path) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise DataError(f"Reading images needs Pillow: {install('images')}.") from None
    try:
        return Image.open(file)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{str(file)!r} is not a readable image: remove it. ({error})") from None


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Pillow's errors, which come when pixels are asked for, in the user's words."""
    try:
        yield
    except (OSError, ValueError, SyntaxError, struct.error, IndexError) as error:
        raise DataError(f"{str(file)!r} is a damaged image ({error}): remove it.") from None
