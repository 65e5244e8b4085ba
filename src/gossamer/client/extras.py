"""The command that installs an extra here, for messages of programs that need one."""

from gossamer.config.optional_deps import install_command

__all__ = ["install_command"]
