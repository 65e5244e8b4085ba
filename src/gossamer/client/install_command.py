"""Provides `install_command`, which returns the command that installs an extra in this environment. For error
messages of programs that need the extra."""

from gossamer.config.optional_deps import install_command

__all__ = ["install_command"]
