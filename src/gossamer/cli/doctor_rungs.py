"""What `gossamer doctor` says of the rungs that need more than this package."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from gossamer.cli.findings import Finding
from gossamer.errors import BrowserFailed, ConfigError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings


def impersonated() -> Finding:
    """Whether the impersonated rung can be used."""
    from gossamer.identity.browsers import CURRENT

    try:
        from gossamer.collectors.http import curl_cffi_adapter

        curl_cffi_adapter.Curl(CURRENT["chrome"]).close()
    except ConfigError as error:
        return Finding("impersonated", "warn", "not available", str(error))
    return Finding("impersonated", "ok", f"appears as {', '.join(sorted(CURRENT.values()))}")


def browser(settings: Settings) -> Finding:
    """Whether the browser rung can be used; bad only where it is meant to be."""
    from gossamer.collectors.browser.chromium import find

    level = "bad" if "browser" in settings.ladder or settings.chromium else "warn"
    try:
        program = find(settings.chromium, "impersonated" not in settings.ladder)
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20)
    except ConfigError as error:
        return Finding("browser", level, "not available", str(error), error.exit_code)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(
            "browser", level, f"{program} does not start", str(error)[:200], BrowserFailed.exit_code
        )
    if done.returncode:
        return Finding(
            "browser", level, f"{program} does not start", done.stderr.strip()[:200], BrowserFailed.exit_code
        )
    return Finding("browser", "ok", f"{program}, {done.stdout.strip()}")
