"""The rights that a user of a shared store needs, and the check of these rights.

docs/stores.md lists the rights, and a test compares them. Each node of a Cluster has users of its own, so every
server is checked.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from gossamer.store.server import Server

KEY_PATTERNS = ("{b:*", "{proxies}*", "{attempts:*", "{ip:*", "{domain:*", "gossamer*")
"""The patterns of all keys that `store.keys` lists."""
RIGHTS = " ".join((*(f"~{one}" for one in KEY_PATTERNS), "+@all -@dangerous +info"))
"""The rights of a user, as the command `ACL SETUSER` takes them. `+info` is optional."""
_LUA = Path(__file__).parents[1] / "frontier" / "lua"
_OTHER_COMMANDS = [
    "DBSIZE",
    "HKEYS",
    "HSCAN",
    "HSETNX",
    "HVALS",
    "MGET",
    "SCAN",
    "UNLINK",
    "WAIT",
    "XADD",
    "XRANGE",
    "XREVRANGE",
]
"""Commands that are sent without a script. EVALSHA is missing, because a server cannot check it alone."""
_MISSING = """
local missing, keys = {}, tonumber(ARGV[1])
if not redis.acl_check_cmd then return missing end -- before Redis 7.0
local function may(command, key) -- servers crash if arguments are missing that the command needs
  local known, yes = pcall(redis.acl_check_cmd, command, key, key, key, key)
  return not known or yes
end
for j = 2, keys + 1 do
  if not (may('GETDEL', ARGV[j]) or may('HGET', ARGV[j]) and may('HSET', ARGV[j])) then missing[#missing + 1] = j end
end
for j = keys + 2, #missing > 0 and 0 or #ARGV do
  if not may(ARGV[j], ARGV[2]) then missing[#missing + 1] = j end
end
return missing
"""
"""Lists the arguments for which the user lacks rights: keys that it may not read and write, or else commands.
ARGV: the number of keys, the keys, the commands. The script runs none of the commands."""


@cache
def commands() -> list[str]:
    """Returns the commands that the scripts and the client use, except INFO."""
    text = "".join(path.read_text() for path in sorted(_LUA.glob("*.lua")))
    return sorted({*re.findall(r"\bcall\('([A-Z]+)'", text), *_OTHER_COMMANDS})


async def missing_rights(server: Server) -> list[str]:
    """Returns the rights that the user lacks on a server, as `ACL SETUSER` takes them. Raises the errors of the
    server, for example if the user may not run scripts."""
    names = [*(f"~{one}" for one in KEY_PATTERNS), *(f"+{one.lower()}" for one in commands())]
    words = [str(len(KEY_PATTERNS)), *(one.rstrip("*") for one in KEY_PATTERNS), *commands()]
    found = await server.client.execute_command("EVAL", _MISSING, 0, *words)
    return [names[place - 2] for place in found]
