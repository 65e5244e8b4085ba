"""Provides `install_command`, which returns the command that installs an extra in this environment. Programs
print this command in the error message for a missing package."""

from gossamer.config.optional_deps import install_command

__all__ = ["install_command"]
