"""Classifies the errors of a store. An error is either a temporary outage, or a fault that a person must
fix."""

from __future__ import annotations

import errno
import re

from gossamer.errors import (
    OWN_LIMITS,
    Away,
    DiskFull,
    GossamerError,
    ResourceError,
    RightsMissing,
    StoreChanged,
    StoreError,
    StoreFull,
    own_limit,
)
from gossamer.store.address import Address
from gossamer.store.server_errors import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    Lost,
    LostInTime,
    MovedError,
    NoPermissionError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)

_PASSING = (
    "LOADING",
    "READONLY",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MASTERDOWN",
    "NOREPLICAS",
    "UNBLOCKED",
    "BUSY ",
)
_PASSING_CLASSES = (BusyLoadingError, ReadOnlyError, ClusterDownError, TryAgainError, AskError)
_FULL = ("No space left", "MISCONF", errno.errorcode[errno.ENOSPC])
_OURS = tuple(OWN_LIMITS[number] for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM))
_REFUSED = (
    "NOAUTH",
    "WRONGPASS",
    "invalid username-password",
    "Authentication required",
    "AUTH ",
    "invalid password",
)
_FORBIDDEN = re.compile("ACL failure in script|The user executing the script can't")
_FOREIGN = "non local key"  # a bucket moved to another node of the Cluster


def is_passing(error: BaseException) -> bool:
    """Returns whether the error may be temporary. For example, an error may be temporary if no server
    answers, if the server is loading its data, or if a failover is in progress."""
    if is_login_refused(error):
        return False
    if isinstance(error, Lost | LostInTime | OSError | Away):
        return "CERTIFICATE_VERIFY_FAILED" not in str(error) and "WRONG_VERSION_NUMBER" not in str(error)
    text = str(error)
    return isinstance(error, _PASSING_CLASSES) or (
        isinstance(error, ResponseError) and (text.startswith(_PASSING) or _FOREIGN in text)
    )


def is_login_refused(error: BaseException) -> bool:
    """Returns whether the server rejected the user or the password."""
    if isinstance(error, AuthenticationError):
        return True
    return isinstance(error, RedisError) and any(word in str(error) for word in _REFUSED)


def to_gossamer_error(error: BaseException, address: Address) -> GossamerError:
    """Converts an error to a gossamer error, with a one-line message that says what to do."""
    at, text = f"the store at {address.shown}", _line(error, address)
    if isinstance(error, GossamerError):
        return error
    if (short := own_limit(error)) in _OURS:  # the server may be the cause of EAGAIN and EADDRNOTAVAIL
        return ResourceError(
            f"{at} cannot be reached: this machine is short of {short}: raise the limit, then run "
            "the same command again"
        )
    if is_login_refused(error):
        return StoreError(f"{at}: user/password refused{_whose(address)} ({text})")
    if isinstance(error, NoPermissionError) or text.startswith("NOPERM") or _FORBIDDEN.search(text):
        return RightsMissing(
            f"{at}: its user may not do that: see docs/stores.md for the rights it needs ({text})"
        )
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return StoreError(
            f"{at}: its certificate is not trusted: name its authority with ?ca_file=FILE ({text})"
        )
    if "WRONG_VERSION_NUMBER" in text:
        return StoreError(f"{at} does not speak TLS: write redis:// instead of rediss:// ({text})")
    if isinstance(error, MovedError):
        return StoreError(f"{at} is a node of a Cluster: write redis+cluster://{address.places[0]}")
    if any(word in text for word in _FULL):
        return DiskFull(f"{at} cannot write to its disk: free some space, then run again ({text})")
    if text.startswith("OOM") or "used memory > 'maxmemory'" in text:
        return StoreFull(f"{at} is out of memory: raise its maxmemory ({text})")
    if is_passing(error):
        return Away(f"{at} does not answer: {text}{_speech(text, address)}")
    if isinstance(error, ResponseError):
        return StoreError(f"{at} refused a call: {text}")
    return StoreError(f"{at} failed: {text}")


def store_trouble(error: GossamerError) -> str:
    """Returns the kind of trouble that an error of a store reports: `unreachable`, `full`, `changed` or
    `refuses`."""
    if isinstance(error, Away | ResourceError):
        return "unreachable"
    if isinstance(error, StoreFull | DiskFull):
        return "full"
    return "changed" if isinstance(error, StoreChanged) else "refuses"


def _whose(address: Address) -> str:
    return "" if address.password or address.user else ": it requires one, as in redis://USER:PASSWORD@HOST"


def _speech(text: str, address: Address) -> str:
    """Returns a hint for the error message, for example that only one side may use TLS."""
    if address.kind == "unix":
        return "; run the same command again"
    if address.tls and "within" in text:
        return " (does it speak TLS? if not, write redis://)"
    if not address.tls and ("closed by server" in text or "reset by peer" in text):
        return " (if it requires TLS, write rediss://)"
    return ""


def _line(error: BaseException, address: Address) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
    text = re.sub(r"^Authentication required.*", "it was not given", text)
    for secret in (address.password, address.sentinel_password):
        if secret and len(secret.reveal()) > 3:
            text = text.replace(secret.reveal(), "***")
    return text
