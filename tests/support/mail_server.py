"""A real SMTP server (aiosmtpd) that keeps the mails it receives."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

from aiosmtpd.controller import Controller


class Letter(NamedTuple):
    """One received mail."""

    recipients: list[str]
    text: str


class MailServer:
    """The mails that a server received."""

    def __init__(self, port: int) -> None:
        self.port, self.letters = port, list[Letter]()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.letters.append(Letter(list(envelope.rcpt_tos), envelope.content.decode("utf-8", "replace")))
        return "250 OK"


@contextlib.contextmanager
def mail_server() -> Iterator[MailServer]:
    """Runs a mail server on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mail = MailServer(port)
    controller = Controller(mail, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield mail
    finally:
        controller.stop()
