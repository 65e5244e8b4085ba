"""Tests of `gossamer prices`: plans, target lists with invalid lines, and `try` on one page."""

from __future__ import annotations

import json
from pathlib import Path

from cli.command_line import gossamer
from support.web_shops import make_shop, page_of, serving

SHOPS = 10


def big_list(folder: Path, hosts: int) -> None:
    lines = [f"https://shop{n % hosts}.example/p/{n}" for n in range(50_000)]
    (folder / "t.csv").write_text("url\n" + "\n".join(lines))


def test_plan_of_ten_hosts_fits_and_of_three_does_not(tmp_path: Path) -> None:
    big_list(tmp_path, 10)
    code, out, _ = gossamer(tmp_path, "prices", "plan", "t.csv", "--delay", "2", "--within", "3h")
    assert code == 0
    assert "2 h 46 min" in out
    big_list(tmp_path, 3)
    code, out, _ = gossamer(tmp_path, "prices", "plan", "t.csv", "--delay", "2", "--within", "3h")
    assert code == 3
    assert "9 h 15 min" in out
    assert "do not fit" in out
    code, out, _ = gossamer(tmp_path, "prices", "plan", "t.csv", "--delay", "2", "--within", "3h", "--json")
    plan = json.loads(out)
    assert (code, plan["fits"], plan["unfit"]) == (3, False, 50_000 - 3 * 5400)


def test_run_that_does_not_fit_is_refused_before_it_starts(tmp_path: Path) -> None:
    big_list(tmp_path, 3)
    code, _, err = gossamer(tmp_path, "prices", "run", "t.csv", "--within", "3h")
    assert code == 3
    assert "--partly" in err
    assert not (tmp_path / "prices.db").exists()


def test_run_within_a_time_visits_its_pages(tmp_path: Path) -> None:
    shop = make_shop(0, 3)
    with serving([shop]):
        (tmp_path / "t.csv").write_text("url\n" + "\n".join(shop.address(path) for path in shop.products))
        words = ("--within", "5h", "--delay", "0", "-s", "allow_private=127.0.0.0/8", "--json")
        code, out, err = gossamer(tmp_path, "prices", "run", "t.csv", *words)
    assert code == 0, err
    assert json.loads(out)["checked"] == 3


def test_the_records_of_a_run_go_to_outputs(tmp_path: Path) -> None:
    shop = make_shop(0, 3)
    with serving([shop]):
        (tmp_path / "t.csv").write_text("url\n" + "\n".join(shop.address(path) for path in shop.products))
        words = (
            "--delay",
            "0",
            "-s",
            "allow_private=127.0.0.0/8",
            "--json",
            "-o",
            "p.jsonl",
            "--what",
            "prices",
        )
        code, out, err = gossamer(tmp_path, "prices", "run", "t.csv", *words, "-o", "p.sqlite")
        assert code == 0, err
        assert [
            (Path(one["output"]).name, one["kind"], one["records"]) for one in json.loads(out)["sent"]
        ] == [
            ("p.jsonl", "price", 3),
            ("p.sqlite", "price", 3),
        ]
        code, out, err = gossamer(
            tmp_path, "prices", "run", "t.csv", *words, "-o", "mongodb://127.0.0.1:1/prices"
        )
        assert (code, "mongodb://127.0.0.1:1/prices" in err) == (20, True), err
        assert json.loads(out)["exit_code"] == 20
    code, out, _ = gossamer(tmp_path, "prices", "send", "-o", "p.jsonl", "--what", "events", "--json")
    assert (code, [(one["kind"], one["records"]) for one in json.loads(out)]) == (0, [("price_event", 3)])
    code, out, _ = gossamer(tmp_path, "prices", "send", "-o", "p.jsonl", "--what", "events")
    assert (code, out) == (0, "nothing new to send\n")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [row["_kind"] for row in rows] == ["price"] * 3 + ["price_event"] * 3
    assert {row["url"] for row in rows} == {shop.address(path) for path in shop.products}


def test_wrong_outputs_of_records_are_told_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("url\nhttps://a.example/1\n")
    for words, says in (
        ("-o p.xlsx", "rows are appended to"),
        ("-o p.jsonl --what price", "choose prices, events"),
        ("--what prices", "give -o, too"),
        ("-o mongo://x/y", "mongodb"),
    ):
        code, _, err = gossamer(tmp_path, "prices", "run", "t.csv", *words.split())
        assert (code, says in err) == (2, True), err
    assert not (tmp_path / "prices.db").exists()
    assert gossamer(tmp_path, "prices", "send", "-o", "p.jsonl")[0] == 2


def test_bad_lines_are_kept_with_number_and_reason(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "url,key,currency,minimum\nhttps://a.example/1,one,EUR,\nftp://a.example/2,,,\n"
        "https://a.example/3,,XQX,\nhttps://a.example/4,,,cheap\nhttps://a.example/5,one,,\n"
        "https://a.example/1,two,EUR,\n"
    )
    code, out, err = gossamer(tmp_path, "prices", "plan", "t.csv", "--json")
    assert code == 0
    assert json.loads(out)["targets"] == 2
    kept = [json.loads(line) for line in (tmp_path / "t.csv.rejected.jsonl").read_text().splitlines()]
    assert [one["line"] for one in kept] == [3, 4, 5, 6]
    assert [
        word in one["reason"] for word, one in zip(("http", "XQX", "cheap", "one"), kept, strict=True)
    ] == [True] * 4
    assert "two or more targets" in err


def test_list_without_targets_and_unknown_files_are_usage_errors(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name\nx\n")
    assert gossamer(tmp_path, "prices", "plan", "t.csv")[0] == 2
    assert gossamer(tmp_path, "prices", "plan", "none.csv")[0] == 2
    assert gossamer(tmp_path, "prices", "run", "https://a.example/", "--delay", "8-2")[0] == 2
    (tmp_path / "s.csv").write_text("domain,field,selector\na.example,price,..\n")
    code, _, err = gossamer(tmp_path, "prices", "run", "https://a.example/", "--selectors", "s.csv")
    assert code == 4
    assert "line 2" in err


def test_try_shows_candidates_and_writes_the_line_of_one(tmp_path: Path) -> None:
    shop = make_shop(0, 3)
    product = shop.products["/p/1"]
    (tmp_path / "page.html").write_text(page_of(shop, product))
    words = ("prices", "try", "https://shop.example/p/1", "--file", "page.html")
    code, out, err = gossamer(tmp_path, *words, "--json")
    assert code == 0, err
    tried = json.loads(out)
    assert str(tried["observations"][0]["price"]) == str(product.price)
    assert tried["candidates"][0]["source"] == "json-ld"
    place = next(n for n, one in enumerate(tried["candidates"], 1) if one["selector"])
    assert gossamer(tmp_path, *words, "--write", str(place))[0] == 0
    line = (tmp_path / "selectors.csv").read_text().splitlines()[1]
    assert line.startswith("shop.example,,price,")
    tried = json.loads(gossamer(tmp_path, *words, "--json")[1])
    assert tried["candidates"][0]["source"] == "selector"


def test_targets_of_a_shop_and_of_a_sitemap(tmp_path: Path) -> None:
    shop = make_shop(0, 5)
    with serving([shop]):
        links = "".join(f'<a href="{path}">{path}</a>' for path in shop.products)
        shop.extra["/"] = f"<title>Shop</title><h1>All</h1>{links}"
        shop.extra["/sitemap.xml"] = (
            "<urlset>"
            + "".join(f"<url><loc>{shop.address(path)}</loc></url>" for path in shop.products)
            + "</urlset>"
        )
        code, _, err = gossamer(
            tmp_path, "prices", "targets", f"shop:{shop.url}/", "--delay", "0", "-o", "a.csv"
        )
        assert code == 0, err
        code, _, err = gossamer(
            tmp_path, "prices", "targets", f"sitemap:{shop.url}/sitemap.xml", "-o", "b.csv"
        )
        assert code == 0, err
    for name in ("a.csv", "b.csv"):
        assert len((tmp_path / name).read_text().splitlines()) == 1 + 5
