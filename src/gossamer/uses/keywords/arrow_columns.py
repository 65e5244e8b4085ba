"""Creates Arrow columns from buffers instead of with `pyarrow.array`. If pandas is installed, `pyarrow.array`
imports pandas, which takes 50 MB of memory in each process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any


def numbers(values: Any) -> Any:
    """Returns a column of 64-bit numbers from a numpy array or an `array('q')`."""
    import numpy as np
    import pyarrow as pa

    found = np.ascontiguousarray(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(found), [None, pa.py_buffer(found)])


def integers(values: Iterable[int]) -> Any:
    """Returns a column of 64-bit numbers."""
    import numpy as np

    return numbers(np.fromiter(values, dtype=np.int64))


def blobs(values: Sequence[bytes]) -> Any:
    """Returns a column of bytes."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.binary(), len(values), _buffers(values))


def texts(values: Iterable[str]) -> Any:
    """Returns a column of texts. Lone surrogates, which cannot be encoded, become `?`."""
    import pyarrow as pa

    encoded = [value.encode("utf-8", "replace") for value in values]
    return pa.Array.from_buffers(pa.string(), len(encoded), _buffers(encoded))


def table(columns: dict[str, Any]) -> Any:
    """Returns an Arrow table with these columns."""
    import pyarrow as pa

    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def _buffers(values: Sequence[bytes]) -> list[Any]:
    import numpy as np
    import pyarrow as pa

    ends = np.fromiter(accumulate(map(len, values), initial=0), dtype=np.int32, count=len(values) + 1)
    return [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
