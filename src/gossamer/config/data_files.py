"""Opens files in the data folder without following symbolic links, and keeps them private.

Other users must not read the files, because requests, cookies and pages may contain secrets.
The data folder itself may be a symbolic link. An entry inside the data folder must not be a symbolic link,
because a crawl would then write to a file outside the folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from gossamer.errors import ConfigError

Name = str | os.PathLike[str]
FOLDER_MODE, FILE_MODE = 0o700, 0o600


def open_file(path: Name, flags: int, mode: int = FILE_MODE, *, dir_fd: int | None = None) -> int:
    """Opens a regular file and returns its descriptor, as os.open does. Can be used as the `opener` of
    open(). `dir_fd` is the descriptor of the file's folder, for a folder that may have moved.

    Raises ConfigError if the path is a symbolic link, a folder, a fifo or a device. Raises OSError for other
    errors.
    """
    try:
        name = path if dir_fd is None else os.path.basename(path)
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode, dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _linked(path) from None
        if error.errno in (errno.ENXIO, errno.EISDIR):  # a fifo without a reader, a socket, a folder
            raise _irregular(path) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _irregular(path)
    return fd


def make_folder(path: Name) -> None:
    """Creates a folder inside the data folder, and the missing parents of the folder. Only its owner can open
    the new folder. Raises ConfigError if the path is a symbolic link. Raises OSError for other errors."""
    refuse_link(path)
    os.makedirs(path, FOLDER_MODE, exist_ok=True)


def make_private(path: Name) -> None:
    """Creates a folder like `make_folder`. If the folder exists and belongs to this user, takes the rights of
    all other users to the folder and to the files directly in it, because another program may have created
    them. Raises the errors of `make_folder`."""
    make_folder(path)
    about = os.stat(path)
    if about.st_uid != os.geteuid():
        return
    os.chmod(path, stat.S_IMODE(about.st_mode) & FOLDER_MODE)
    with os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError, PermissionError):
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISREG(mode) and stat.S_IMODE(mode) & ~FOLDER_MODE:
                    os.chmod(entry.path, stat.S_IMODE(mode) & FOLDER_MODE)


def refuse_link(*paths: Name) -> None:
    """Raises ConfigError if one of the paths is a symbolic link. Callers check a path with this function
    before they pass the path to a library that opens files by name."""
    for path in paths:
        if os.path.islink(path):
            raise _linked(path)


def refuse_links_in(*folders: Path) -> None:
    """Raises ConfigError if one of the folders, or an entry in one of them, is a symbolic link. The error
    message contains the path of the first link."""
    for folder in folders:
        refuse_link(folder)
        try:
            with os.scandir(folder) as entries:
                links = sorted(entry.path for entry in entries if entry.is_symlink())
        except FileNotFoundError:
            continue
        if links:
            raise _linked(links[0])


def _linked(path: Name) -> ConfigError:
    return ConfigError(
        f"{os.fspath(path)} is a symbolic link, and files in the data folder may not be links: "
        "put the file itself there or remove the link, then run the same command again"
    )


def _irregular(path: Name) -> ConfigError:
    return ConfigError(f"{os.fspath(path)} is not a regular file: remove it, then run the same command again")
