"""scrapyd's JSON API, by python-scrapyd-api as it is published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scrapyd_api import ScrapydAPI
from scrapyd_api.exceptions import ScrapydResponseError

from gossamer.client.service_client import Client
from gossamer.web.doors.scrapyd import REFUSED
from operations.conftest import SITE
from operations.service_process import Serving, served_folder
from operations.test_access import token


@pytest.fixture
def scrapyd(server: Serving) -> ScrapydAPI:
    return ScrapydAPI(server.url)


def test_the_folder_of_site_files_is_the_project(scrapyd: ScrapydAPI) -> None:
    assert scrapyd.list_projects() == ["sites"]
    assert scrapyd.list_spiders("sites") == ["shop"]
    assert scrapyd.list_versions("sites") == ["site-files"]


def test_a_spider_runs_and_leaves_items_and_a_log(scrapyd: ScrapydAPI, server: Serving) -> None:
    job = scrapyd.schedule("sites", "shop", settings={"DOWNLOAD_DELAY": "0.01", "ROBOTSTXT_OBEY": "True"})
    Client(server.url).wait(job, timeout=60)
    assert scrapyd.job_status("sites", job) == "finished"
    entry = next(one for one in scrapyd.list_jobs("sites")["finished"] if one["id"] == job)
    assert (entry["spider"], entry["project"]) == ("shop", "sites")
    assert entry["start_time"] < entry["end_time"]
    items = [json.loads(line) for line in server.ask("GET", entry["items_url"]).body.splitlines()]
    assert sorted(int(one["n"]) for one in items) == list(range(12))
    log = server.ask("GET", entry["log_url"]).body.decode()
    assert log.count("Crawled (200)") >= 13
    assert log.endswith("Spider closed (finished)\n")
    assert server.ask("GET", f"/status.json?job={job}").json["currstate"] == "finished"
    about = server.ask("GET", "/daemonstatus.json").json
    assert (about["status"], about["pending"]) == ("ok", 0)
    assert about["finished"] >= 1


def test_settings_are_options_of_the_crawl(scrapyd: ScrapydAPI, server: Serving) -> None:
    job = scrapyd.schedule(
        "sites", "shop", settings={"CLOSESPIDER_PAGECOUNT": "3"}, jobid="three", priority="2"
    )
    assert job == "three"
    assert Client(server.url).wait(job, timeout=60).pages == 3


def test_a_running_job_is_cancelled(scrapyd: ScrapydAPI, server: Serving) -> None:
    job = scrapyd.schedule("sites", "shop", settings={"DOWNLOAD_DELAY": "2"}, jobid="slow")
    assert scrapyd.job_status("sites", job) == "running"
    assert server.ask("GET", "/status.json?job=slow").json["currstate"] == "running"
    assert scrapyd.cancel("sites", job) == "running"
    assert Client(server.url).wait(job, timeout=60).state == "cancelled"
    assert scrapyd.cancel("sites", job) is None
    assert scrapyd.cancel("sites", "of-another-server") is None
    assert scrapyd.job_status("sites", "of-another-server") == ""


def test_a_schedule_that_overlaps_itself_is_refused(scrapyd: ScrapydAPI, server: Serving) -> None:
    scrapyd.schedule("sites", "shop", settings={"DOWNLOAD_DELAY": "2"}, jobid="nightly")
    with pytest.raises(ScrapydResponseError, match="crawl nightly is running"):
        scrapyd.schedule("sites", "shop", jobid="nightly")
    scrapyd.cancel("sites", "nightly")
    Client(server.url).wait("nightly", timeout=60)


@pytest.mark.parametrize("path", REFUSED)
def test_changes_of_code_are_refused_by_name(server: Serving, path: str) -> None:
    answer = server.ask("POST", f"/{path}.json", raw=b"x" * 100)
    assert (answer.status, answer.json["status"]) == (200, "error")
    assert answer.json["message"] == f"{path}.json is not offered: {REFUSED[path]}"


def test_what_is_not_here_is_refused_by_name(scrapyd: ScrapydAPI) -> None:
    with pytest.raises(ScrapydResponseError, match="it uploads code"):
        scrapyd.add_version("sites", "1", b"an egg")
    with pytest.raises(ScrapydResponseError, match="project 'other' not found: there is 'sites'"):
        scrapyd.schedule("other", "shop")
    with pytest.raises(ScrapydResponseError, match="did you mean shop"):
        scrapyd.schedule("sites", "shp")
    with pytest.raises(ScrapydResponseError, match="FEED_URI is not offered"):
        scrapyd.schedule("sites", "shop", settings={"FEED_URI": "/etc/passwd"})
    with pytest.raises(ScrapydResponseError, match="not a number"):
        scrapyd.schedule("sites", "shop", settings={"DOWNLOAD_DELAY": "soon"})
    with pytest.raises(ScrapydResponseError, match="-a colour: no site takes it"):
        scrapyd.schedule("sites", "shop", colour="red")
    with pytest.raises(ScrapydResponseError, match="with TERM or INT"):
        scrapyd.cancel("sites", "slow", signal="KILL")
    with pytest.raises(ScrapydResponseError, match="no versions"):
        scrapyd.schedule("sites", "shop", _version="r12")


def test_the_token_is_the_password(tmp_path: Path, web: str) -> None:
    reader, runner = (token(tmp_path, "--scope", scope) for scope in ("read", "run"))
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "shop.py").write_text(SITE.replace("WEB", web))
    with served_folder(tmp_path, "--token-file", "tokens.jsonl", "--sites", "sites") as server:
        answer = server.ask("GET", "/listprojects.json")
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="gossamer"')
        with pytest.raises(ScrapydResponseError, match="401"):
            ScrapydAPI(server.url, auth=("me", "wrong")).list_projects()
        assert ScrapydAPI(server.url, auth=("me", reader)).list_projects() == ["sites"]
        with pytest.raises(ScrapydResponseError, match="needs the scope run"):
            ScrapydAPI(server.url, auth=("me", reader)).schedule("sites", "shop")
        job = ScrapydAPI(server.url, auth=("me", runner)).schedule("sites", "shop")
        assert Client(server.url, token=reader).wait(job, timeout=60).pages == 13


def test_a_server_without_site_files_has_no_project(tmp_path: Path) -> None:
    with served_folder(tmp_path) as server:
        assert ScrapydAPI(server.url).list_projects() == []
        with pytest.raises(ScrapydResponseError, match="without --sites DIR"):
            ScrapydAPI(server.url).list_spiders("sites")
