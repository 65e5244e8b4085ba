"""Hooks for MkDocs that add pages outside docs/ (README, CONTRIBUTING, ...) to the site under `project/`.

Links to these pages lead to their place in the site. A link to any other existing file outside the site, such
as a source file, becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROJECT_FILES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
    "examples/README.md",
    "benchmarks/results/ladder.svg",
)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r"(src(?:set)?=\")(docs/[^\"]+)")


def on_files(files: Any, config: Any) -> Any:
    """Adds the files outside docs/ to the site."""
    from mkdocs.structure.files import File

    for name in PROJECT_FILES:
        files.append(File.generated(config, f"project/{name}", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Points each link to its target's page in the site."""
    return rewritten(markdown, page.file.src_uri, {file.src_uri for file in files})


def rewritten(markdown: str, page: str, pages: set[str]) -> str:
    """Returns the text of a page of the site, with links that fit the site instead of the checkout.

    `page` is the path of the page in the site, and `pages` contains the paths of all pages.

    >>> rewritten("[a](../README.md#set-up) [b](../pyproject.toml)", "index.md", {"project/README.md"})
    '[a](project/README.md#set-up) b'
    """
    source = page.removeprefix("project/") if page.startswith("project/") else f"docs/{page}"
    here = posixpath.dirname(page)

    def relinked(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if ":" in target:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        inside = path.removeprefix("docs/") if path.startswith("docs/") else f"project/{path}"
        if inside not in pages:
            return text if (ROOT / path).exists() else match[0]
        return f"[{text}]({posixpath.relpath(inside, here or '.')}{anchor})"

    kept: list[str] = []

    def hide_code(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    text = LINK.sub(relinked, CODE.sub(hide_code, markdown))
    up = "../" * page.removesuffix("README.md").removesuffix(".md").count("/")
    text = PICTURE.sub(lambda match: f"{match[1]}{up}{match[2].removeprefix('docs/')}", text)
    for _ in range(2):  # a link's text may contain a code span
        text = re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], text)
    return text
