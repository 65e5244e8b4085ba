"""Opens pages of the dashboard in Chromium, and notes what goes wrong in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

AXE = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    / "gossamer-servers/axe-core-4.14.1/node_modules/axe-core/axe.min.js"
)
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="./test gets axe-core")
REPORTS = (
    "document.addEventListener('securitypolicyviolation', (e) => console.error('CSP ' + e.violatedDirective))"
)


class Watched:
    """A tab, and what went wrong in it: errors and warnings of the console, reports of the Content-Security-Policy, and
    requests to other servers."""

    def __init__(
        self, browser: Browser, url: str, width: int, *, dark: bool = False, scripts: bool = True
    ) -> None:
        self.page: Page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        self.page.set_default_timeout(60_000)
        self.page.add_init_script(REPORTS)
        self.wrong: list[str] = []
        self.page.on(
            "console",
            lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda one: None if one.url.startswith(url) else self.wrong.append(one.url))

    def findings(self) -> list[str]:
        """Returns the serious findings of axe-core on the page, each with the first element."""
        # the debugger is not bound to the page's Content-Security-Policy
        session = self.page.context.new_cdp_session(self.page)
        session.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        expression = "axe.run(document, {iframes: false}).then((r) => JSON.stringify(r.violations))"
        answer = session.send(
            "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
        )
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0].get('failureSummary', '')[:300]}"
            for one in json.loads(answer["result"]["value"])
            if one["impact"] in ("serious", "critical")
        ]
