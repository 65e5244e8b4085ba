"""Adapts curl_cffi's libcurl, which has a browser's TLS and HTTP/2 fingerprint, to the part of pycurl's
interface that `Transfer` and `Multi` use. The C functions are called directly, because curl_cffi's own
classes have two disadvantages. First, the classes lack two callbacks that the egress guard's second check
needs: one for opening a socket, and one for sending a request. Second, the classes wake the event loop ten
times per second for each connection pool.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import pycurl

from gossamer.config.optional_deps import install_command, upgrade_command
from gossamer.errors import ConfigError

try:
    from curl_cffi._wrapper import ffi, lib
except ImportError as missing:
    raise ConfigError(
        f"the impersonated rung needs curl_cffi: {install_command('impersonated')}"
    ) from missing

ERRORBUFFER, COPYPOSTFIELDS, POSTFIELDSIZE = 10010, 10165, 30120
HTTPHEADER_ORDER, HTTP2_SETTINGS = 11030, 11006  # options that only curl-impersonate has
WRITEDATA, HEADERDATA, OPENSOCKETDATA, PREREQDATA = 10001, 10029, 10164, 10313
M_SOCKETDATA, M_TIMERDATA = 10002, 10005
_POINTER = 10_000  # options below this number take a long
_DONE = 1


@ffi.callback("size_t(char*, size_t, size_t, void*)", error=0)  # type: ignore[untyped-decorator]
def _write(data: Any, size: int, count: int, me: Any) -> int:
    taken = ffi.from_handle(me).calls[pycurl.WRITEFUNCTION](ffi.buffer(data, size * count)[:])
    return size * count if taken is None else int(taken)


@ffi.callback("size_t(char*, size_t, size_t, void*)", error=0)  # type: ignore[untyped-decorator]
def _head(data: Any, size: int, count: int, me: Any) -> int:
    ffi.from_handle(me).calls[pycurl.HEADERFUNCTION](ffi.buffer(data, size * count)[:])
    return size * count


@ffi.callback("int(void*, int, void*)", error=-1)  # type: ignore[untyped-decorator]
def _open(me: Any, purpose: int, address: Any) -> int:
    """Opens a socket for curl. `address` is a `struct curl_sockaddr`: four ints (family, type, protocol,
    length), then the socket address."""
    family, kind, protocol, length = ffi.cast("int*", address)[0:4]
    raw = bytes(ffi.buffer(ffi.cast("char*", address) + 16, length))
    host = socket.inet_ntop(family, raw[8:24] if family == socket.AF_INET6 else raw[4:8])
    place = (host, int.from_bytes(raw[2:4], "big"))
    made = ffi.from_handle(me).calls[pycurl.OPENSOCKETFUNCTION](purpose, (family, kind, protocol, place))
    try:
        return made if isinstance(made, int) else os.dup(made.fileno())
    except OSError:  # no descriptor is free (see `local_shortage`)
        return -1


@ffi.callback("int(void*, char*, char*, int, int)", error=1)  # type: ignore[untyped-decorator]
def _before(me: Any, there: Any, here: Any, port: int, local: int) -> int:
    says = ffi.from_handle(me).calls[pycurl.PREREQFUNCTION]
    return int(says(ffi.string(there).decode(), ffi.string(here).decode(), port, local))


@ffi.callback("int(void*, int, int, void*, void*)", error=-1)  # type: ignore[untyped-decorator]
def _on_socket(_easy: Any, fd: int, what: int, me: Any, _data: Any) -> int:
    ffi.from_handle(me).calls[pycurl.M_SOCKETFUNCTION](what, fd, None, None)
    return 0


@ffi.callback("int(void*, long, void*)", error=-1)  # type: ignore[untyped-decorator]
def _on_timer(_multi: Any, milliseconds: int, me: Any) -> int:
    ffi.from_handle(me).calls[pycurl.M_TIMERFUNCTION](milliseconds)
    return 0


_CALLBACKS = {
    pycurl.WRITEFUNCTION: (_write, WRITEDATA),
    pycurl.HEADERFUNCTION: (_head, HEADERDATA),
    pycurl.OPENSOCKETFUNCTION: (_open, OPENSOCKETDATA),
    pycurl.PREREQFUNCTION: (_before, PREREQDATA),
}


class Curl:
    """A curl handle whose transfers look like those of the browser `target`. `http2`: HTTP/2 settings that
    replace the settings of `target`, or ''. Raises ConfigError."""

    def __init__(self, target: str, http2: str = "") -> None:
        self.calls: dict[int, Callable[..., Any]] = {}
        self._lists: dict[int, Any] = {}
        self._easy, self._me, self._text = lib.curl_easy_init(), ffi.new_handle(self), ffi.new("char[]", 256)
        lib._curl_easy_setopt(self._easy, ERRORBUFFER, self._text)
        if lib.curl_easy_impersonate(self._easy, target.encode(), 0):
            self.close()
            raise ConfigError(
                f"this version of curl_cffi cannot impersonate {target}: "
                f"{upgrade_command('curl_cffi', 'impersonated')}"
            )
        if http2:
            self.setopt(HTTP2_SETTINGS, http2)

    def setopt(self, option: int, value: Any) -> None:
        """Sets an option, given by its number. The value is an int, a string, a list of strings, None, or a
        callable as a callback. Raises ValueError."""
        if option in _CALLBACKS:
            self.calls[option] = value
            function, data = _CALLBACKS[option]
            self._set(data, self._me)
            self._set(option, function)
        elif option == pycurl.POSTFIELDS:
            self._set(POSTFIELDSIZE, ffi.new("int64_t*", len(value)))
            self._set(COPYPOSTFIELDS, ffi.from_buffer(value))
        elif isinstance(value, list | tuple):
            self._set_list(option, value)
            if option == pycurl.HTTPHEADER:
                self._keep_order(value)
        elif value is None:
            self._set(option, ffi.NULL)
        elif option < _POINTER:
            self._set(option, ffi.new("long*", value))
        else:
            self._set(option, ffi.new("char[]", value.encode() if isinstance(value, str) else value))

    def error(self) -> str:
        """Returns curl's message about the last failed transfer."""
        said: bytes = ffi.string(self._text)
        return said.decode("utf-8", "replace")

    def getinfo(self, what: int) -> float:
        """Returns information about the last transfer: a time in seconds, or a number (`OS_ERRNO`)."""
        out = ffi.new("long*" if what == pycurl.OS_ERRNO else "double*")
        lib.curl_easy_getinfo(self._easy, what, out)
        return float(out[0])

    def close(self) -> None:
        """Frees the handle."""
        easy, self._easy = self._easy, None
        if easy is not None:
            lib.curl_easy_cleanup(easy)
            for kept in self._lists.values():
                lib.curl_slist_free_all(kept)
            self._lists.clear()
            self.calls.clear()
            self._me = None

    def _set(self, option: int, value: Any) -> None:
        if code := lib._curl_easy_setopt(self._easy, option, value):
            raise ValueError(f"curl refuses option {option} ({code})")

    def _keep_order(self, lines: Sequence[bytes]) -> None:
        """Makes curl send headers in the given order, including `Connection`, which curl would otherwise put
        last. A line `Name:` makes curl leave out the header `Name`."""
        names = [line.partition(b":")[0].rstrip(b";") for line in lines if not line.endswith(b":")]
        # Content-Length has the same position as in Chromium and Firefox
        after = b"Connection" if b"Connection" in names[:2] else b"Content-Type"
        if b"Content-Type" in names:
            names.insert(names.index(after) + 1, b"Content-Length")
        self.setopt(HTTPHEADER_ORDER, b",".join([b"Host", *names]))

    def _set_list(self, option: int, texts: Sequence[str | bytes]) -> None:
        """Sets an option to a list. curl does not copy the list, so this object keeps the list until the
        option is set again."""
        new = ffi.NULL
        for text in texts:
            new = lib.curl_slist_append(new, text.encode() if isinstance(text, str) else text)
        self._set(option, new)
        if (old := self._lists.pop(option, None)) is not None:
            lib.curl_slist_free_all(old)
        if texts:
            self._lists[option] = new

    def __del__(self) -> None:
        self.close()


class CurlMulti:
    """Runs many transfers over one set of connections."""

    def __init__(self) -> None:
        self.calls: dict[int, Callable[..., Any]] = {}
        self._multi, self._me = lib.curl_multi_init(), ffi.new_handle(self)
        self._curls: dict[int, Curl] = {}
        self._left = ffi.new("int*")
        for option, value in ((M_SOCKETDATA, self._me), (M_TIMERDATA, self._me)):
            lib.curl_multi_setopt(self._multi, option, value)

    def setopt(self, option: int, value: Any) -> None:
        """Sets a numeric option, the callback for sockets, or the callback for the timer."""
        if option in (pycurl.M_SOCKETFUNCTION, pycurl.M_TIMERFUNCTION):
            self.calls[option] = value
            value = _on_socket if option == pycurl.M_SOCKETFUNCTION else _on_timer
        else:
            value = ffi.cast("void*", value)
        self._check(lib.curl_multi_setopt(self._multi, option, value))

    def add_handle(self, curl: Curl) -> None:
        """Begins a transfer. Raises pycurl.error."""
        self._check(lib.curl_multi_add_handle(self._multi, curl._easy))
        self._curls[_number(curl._easy)] = curl

    def remove_handle(self, curl: Curl) -> None:
        """Removes a transfer, whether or not it has finished."""
        if self._curls.pop(_number(curl._easy), None) is not None:
            lib.curl_multi_remove_handle(self._multi, curl._easy)

    def socket_action(self, fd: int, mask: int) -> None:
        """Reports to curl that the socket `fd` is ready or, if `fd` is -1, that the timeout has expired.
        Raises pycurl.error."""
        self._check(lib.curl_multi_socket_action(self._multi, fd, mask, self._left))

    def info_read(self, _most: int) -> tuple[int, list[Curl], list[tuple[Curl, int, str]]]:
        """Returns three values. The first value is the number of remaining messages, which is always 0. The
        second value lists the successful transfers. The third value lists the failed transfers, each with
        curl's error number and message."""
        fine: list[Curl] = []
        failed: list[tuple[Curl, int, str]] = []
        while (message := lib.curl_multi_info_read(self._multi, self._left)) != ffi.NULL:
            curl = self._curls.get(_number(message.easy_handle)) if message.msg == _DONE else None
            if curl is not None:
                code = int(message.data.result)
                if code:
                    failed.append((curl, code, curl.error()))
                else:
                    fine.append(curl)
        return 0, fine, failed

    def close(self) -> None:
        """Closes the connections and frees the multi handle."""
        if self._multi is not None:
            for curl in list(self._curls.values()):
                self.remove_handle(curl)
            lib.curl_multi_cleanup(self._multi)
            self._multi = None

    def _check(self, code: int) -> None:
        if code > 0:
            raise pycurl.error(code, ffi.string(lib.curl_multi_strerror(code)).decode())


def _number(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))
