"""Runs curl's transfers on the event loop. One `Multi` runs many handles. curl reports the sockets that it
waits for and the time of its next timeout.

If epoll is available, `Multi` has its own epoll set for these sockets, and the event loop watches only the
descriptor of this epoll set. Registering a socket then costs one system call, and many ready sockets are
handled in one iteration of the loop.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Any

import pycurl

_READ, _WRITE = 1, 4  # EPOLLIN, EPOLLOUT
_WANTS: dict[int, int] = {pycurl.POLL_IN: _READ, pycurl.POLL_OUT: _WRITE, pycurl.POLL_INOUT: _READ | _WRITE}
CLOSED: tuple[int, str] = (pycurl.E_ABORTED_BY_CALLBACK, "the collector was closed")


class Multi:
    """Runs transfers on the event loop that starts the first transfer. `connections`: the maximum number of
    connections that are kept open. `epoll`: if False, the loop's readers and writers are used instead of
    epoll. `made`: a function that creates the multi handle, which has the interface of pycurl's CurlMulti."""

    def __init__(
        self, connections: int, *, epoll: bool = True, made: Callable[[], Any] = pycurl.CurlMulti
    ) -> None:
        self._multi, self._connections = made(), connections
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._set = select.epoll() if epoll and hasattr(select, "epoll") else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[Any, asyncio.Future[tuple[int, str] | None]] = {}
        self._wants: dict[int, int] = {}
        self._soon = self.closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._armed = 0.0

    async def perform(self, curl: Any) -> tuple[int, str] | None:
        """Runs a transfer. Returns None on success, otherwise curl's error number and text. After a cancelled
        call, the handle can be reused immediately."""
        if self.closed:
            return CLOSED
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            if self._set is not None:
                self._loop.add_reader(self._set.fileno(), self._ready)
        done: asyncio.Future[tuple[int, str] | None] = self._loop.create_future()
        self._waiting[curl] = done
        try:
            self._multi.add_handle(curl)
            return await done
        except BaseException:
            if self._waiting.pop(curl, None) is not None and not self.closed:
                self._multi.remove_handle(curl)
            raise

    def restart(self, curl: Any, option: tuple[int, int]) -> None:
        """Changes one option of a transfer that has not sent its request yet, and restarts the transfer."""
        if curl in self._waiting and not self.closed:
            self._multi.remove_handle(curl)
            curl.setopt(*option)
            self._multi.add_handle(curl)

    def keep_fewer(self) -> None:
        """Halves the maximum number of connections that are kept open. The collector calls this method when
        the process lacks a resource, such as file descriptors."""
        if not self.closed and self._connections > 1:
            self._connections //= 2
            self._multi.setopt(pycurl.M_MAXCONNECTS, self._connections)

    def close(self) -> None:
        """Aborts all transfers, which then return `CLOSED`, and closes all connections."""
        if self.closed:
            return
        self.closed = True
        waiting, self._waiting = self._waiting, {}
        for curl, done in waiting.items():
            self._multi.remove_handle(curl)
            if not done.done():
                done.set_result(CLOSED)
        if self._timer is not None:
            self._timer.cancel()
        for fd in list(self._wants):
            self._forget(fd)
        self._multi.close()
        if self._set is not None:
            if self._loop is not None:
                self._loop.remove_reader(self._set.fileno())
            self._set.close()

    def _on_socket(self, what: int, fd: int, _multi: Any, _data: Any) -> None:
        """Starts or stops watching a socket, as curl requests. The kernel removes closed sockets from the
        epoll set, so the socket may already be missing from the set."""
        wants = _WANTS.get(what, 0)
        if not wants:
            self._forget(fd)
        elif self._set is None:
            self._watch(fd, wants)
        else:
            try:
                if fd in self._wants:
                    self._set.modify(fd, wants)
                else:
                    self._set.register(fd, wants)
            except FileNotFoundError:
                self._set.register(fd, wants)
            except FileExistsError:
                self._set.modify(fd, wants)
            self._wants[fd] = wants

    def _forget(self, fd: int) -> None:
        if self._set is None:
            self._watch(fd, 0)
        elif self._wants.pop(fd, 0):
            try:
                self._set.unregister(fd)
            except OSError:  # closed already
                pass

    def _watch(self, fd: int, wants: int) -> None:
        """Watches a socket with the event loop's readers and writers, without epoll."""
        loop, before = self._loop, self._wants.pop(fd, 0)
        assert loop is not None
        if wants:
            self._wants[fd] = wants
        if wants & _READ and not before & _READ:
            loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        if wants & _WRITE and not before & _WRITE:
            loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        if before & _READ and not wants & _READ:
            loop.remove_reader(fd)
        if before & _WRITE and not wants & _WRITE:
            loop.remove_writer(fd)

    def _ready(self) -> None:
        """Handles the ready sockets of the epoll set."""
        assert self._set is not None
        for fd, events in self._set.poll(0):
            if fd in self._wants:  # an earlier event of this round may have closed the socket
                self._act(fd, (events & 1 and 1) | (events & 4 and 2) | (events & 0x18 and 4), settle=False)
        self._settle()

    def _act(self, fd: int, mask: int, settle: bool = True) -> None:
        """Lets curl read from or write to a socket. If curl itself fails, all waiting transfers get the
        error, because nothing else would wake them."""
        if self.closed:
            return
        try:
            self._multi.socket_action(fd, mask)
        except pycurl.error as error:
            waiting, self._waiting = self._waiting, {}
            for curl, done in waiting.items():
                self._multi.remove_handle(curl)
                if not done.done():
                    done.set_exception(OSError(f"curl gave up: {error}"))
        if settle:
            self._settle()

    def _on_timer(self, milliseconds: int) -> None:
        """Sets the timer for curl's next timeout. If a timer is already set and expires earlier, the function
        keeps the existing timer, because curl may be called before its timeout."""
        if self.closed or milliseconds < 0 or self._loop is None:
            return
        if milliseconds == 0:
            if not self._soon:
                self._soon = True
                self._loop.call_soon(self._kick)
            return
        due = self._loop.time() + milliseconds / 1000
        if self._timer is None or due < self._armed:
            if self._timer is not None:
                self._timer.cancel()
            self._armed = due
            self._timer = self._loop.call_at(due, self._alarm)

    def _kick(self) -> None:
        self._soon = False
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _alarm(self) -> None:
        self._timer = None
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _settle(self) -> None:
        """Sets the results of finished transfers."""
        more = 1
        while more:
            more, fine, failed = self._multi.info_read(1000)
            for curl in fine:
                self._over(curl, None)
            for curl, code, text in failed:
                self._over(curl, (code, text))

    def _over(self, curl: Any, error: tuple[int, str] | None) -> None:
        done = self._waiting.pop(curl, None)
        if done is not None:
            self._multi.remove_handle(curl)
            if not done.done():
                done.set_result(error)
