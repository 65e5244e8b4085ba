"""The examples that the help texts of the commands show."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "crawl": (
        "gossamer crawl https://example.com -o pages.jsonl",
        "gossamer crawl shop.py -o items.csv --limit 500 --delay 2",
        "gossamer crawl urls.txt --scope page -o pages.sqlite --if-older 24h",
    ),
    "submit": (
        "gossamer submit shop.py -o postgresql://db/shop --store valkey://store:6379",
        "gossamer submit urls.txt --name urls --wait --json",
    ),
    "status": ("gossamer status", "gossamer status shop", "gossamer status news --freshness"),
    "top": ("gossamer top", "gossamer top shop", "gossamer top --once --json"),
    "add": (
        "gossamer add shop https://shop.example/new --priority 9",
        "gossamer add shop orders.jsonl --if-older 24h --json",
        "gossamer add shop - --id order-17 --store valkey://store:6379",
    ),
    "accept": ("gossamer accept shop", "gossamer accept shop --store valkey://store:6379"),
    "pause": ("gossamer pause shop", "gossamer pause shop --store valkey://store:6379"),
    "resume": ("gossamer resume shop", "gossamer resume shop --json"),
    "stop": ("gossamer stop shop", "gossamer stop shop --json"),
    "finish": ("gossamer finish shop", "gossamer finish shop --json"),
    "cancel": ("gossamer cancel shop", "gossamer cancel shop --quiet"),
    "priority": (
        "gossamer priority shop 5 --match /new/",
        "gossamer priority shop -2 --host slow.example --dry-run",
    ),
    "changed": (
        "gossamer changed news https://example.com/live",
        "gossamer changed news https://example.com/a https://example.com/b --json",
    ),
    "weight": (
        "gossamer weight shop 3 --store valkey://store:6379",
        "gossamer weight archive 1 --store valkey://store:6379",
        "gossamer weight news --precedence 1 --store valkey://store:6379",
    ),
    "audit": (
        "gossamer audit https://www.example.com/",
        "gossamer audit https://www.example.com/ --external all -o report.html -o findings.xlsx --fail-on new-error",
        "gossamer audit .gossamer/audits/www.example.com.db -o findings/ -o links.gexf",
    ),
    "ranks plan": (
        "gossamer ranks plan keywords.csv --provider serper",
        "gossamer ranks plan keywords.csv --provider dataforseo --first 100 --price 0.60",
    ),
    "ranks run": (
        "gossamer ranks run keywords.csv --provider serper --budget 500",
        "gossamer ranks run keywords.txt --domain shop.example --country us --language en --engine google,bing",
        "gossamer ranks run keywords.csv --failed -q -o mongodb://db/ranks --what positions --what results",
    ),
    "ranks import": (
        "gossamer ranks import saved/ --keywords keywords.csv",
        "gossamer ranks import pages.warc.gz --keywords keywords.csv --first 20",
    ),
    "ranks reparse": ("gossamer ranks reparse", "gossamer ranks reparse --layout result_pages.json --all"),
    "ranks positions": (
        "gossamer ranks positions",
        "gossamer ranks positions --moves --days 30 --csv",
    ),
    "ranks history": (
        "gossamer ranks history 'espresso machine'",
        "gossamer ranks history kettle --days 90 --csv",
    ),
    "ranks competitors": (
        "gossamer ranks competitors",
        "gossamer ranks competitors --side-by-side --csv",
    ),
    "ranks features": ("gossamer ranks features", "gossamer ranks features --days 7 --json"),
    "ranks volatility": ("gossamer ranks volatility", "gossamer ranks volatility --days 90 --csv"),
    "ranks competing": ("gossamer ranks competing", "gossamer ranks competing --days 90 --csv"),
    "ranks failing": ("gossamer ranks failing", "gossamer ranks failing --csv"),
    "ranks alert": (
        "gossamer ranks alert",
        "gossamer ranks alert --rules rank-rules.toml -o changes.jsonl",
    ),
    "ranks send": (
        "gossamer ranks send -o kafka://broker:9092/ranks",
        "gossamer ranks send -o 'valkey://cache/0?list=ranks:{keyword}' --what results",
    ),
    "ranks rules": ("gossamer ranks rules", "gossamer ranks rules rank-rules.toml --history ranks.db --json"),
    "ranks report": (
        "gossamer ranks report",
        "gossamer ranks report -o week.html --days 7 --domain shop.example",
    ),
    "ranks export": (
        "gossamer ranks export ranks.xlsx",
        "gossamer ranks export results.parquet --what results --days 90",
    ),
    "prices targets": (
        "gossamer prices targets shop:https://shop.example/ --limit 5000 -o targets.csv",
        "gossamer prices targets sitemap:https://shop.example/sitemap.xml --include /product/",
    ),
    "prices plan": (
        "gossamer prices plan targets.csv --within 3h",
        "gossamer prices plan targets.csv --delay 2 --json",
    ),
    "prices run": (
        "gossamer prices run targets.csv",
        "gossamer prices run targets.csv --history postgresql://db/prices --within 5h --partly -q",
        "gossamer prices run targets.csv -o mongodb://db/shop -o 'valkey://cache/0?list=prices:{shop}'",
    ),
    "prices try": (
        "gossamer prices try https://shop.example/p/42",
        "gossamer prices try https://shop.example/p/42 --write 2",
        "gossamer prices try https://shop.example/p/42 --selector '.buybox .amount' --save",
    ),
    "prices alert": (
        "gossamer prices alert",
        "gossamer prices alert --rules rules.toml -o changes.jsonl",
        "gossamer prices alert -s alerts=https://ops.example/hook --json",
    ),
    "prices send": (
        "gossamer prices send -o kafka://broker:9092/prices",
        "gossamer prices send -o mongodb://db/shop --what prices --what events --again",
    ),
    "prices rules": ("gossamer prices rules", "gossamer prices rules rules.toml --history prices.db --json"),
    "prices failing": (
        "gossamer prices failing --runs 3",
        "gossamer prices failing --state moved --csv > targets-new.csv",
    ),
    "prices shops": ("gossamer prices shops", "gossamer prices shops --accept shop.example"),
    "prices match": ("gossamer prices match", "gossamer prices match --history prices.db --json"),
    "prices review": (
        "gossamer prices review",
        "gossamer prices review --csv --limit 1000 > pairs.csv",
        "gossamer prices review --accept pairs.csv",
    ),
    "prices moves": ("gossamer prices moves --days 7", "gossamer prices moves --shop shop.example --csv"),
    "prices market": ("gossamer prices market", "gossamer prices market kettle-1 --json"),
    "prices stale": ("gossamer prices stale", "gossamer prices stale --days 7 --csv"),
    "prices report": (
        "gossamer prices report",
        "gossamer prices report -o week.html --days 7 --shop shop.example",
    ),
    "keywords count": (
        "gossamer keywords count https://shop.example/ --list words.txt",
        "gossamer keywords count https://shop.example/ https://other.example/ --list 'green tea' --stem en -o report.html",
        "gossamer keywords count https://shop.example/ --list words.txt --if-older 24h -o mongodb://db/words",
    ),
    "keywords discover": ("gossamer keywords discover", "gossamer keywords discover --words 2 --csv"),
    "keywords pages": ("gossamer keywords pages 'green tea'", "gossamer keywords pages tea --json"),
    "keywords gaps": (
        "gossamer keywords gaps shop.example other.example",
        "gossamer keywords gaps shop.example other.example --csv",
    ),
    "keywords overlap": ("gossamer keywords overlap", "gossamer keywords overlap --json"),
    "keywords cannibals": ("gossamer keywords cannibals", "gossamer keywords cannibals --site shop.example"),
    "keywords trend": (
        "gossamer keywords trend 'green tea'",
        "gossamer keywords trend tea --site shop.example",
    ),
    "keywords report": ("gossamer keywords report", "gossamer keywords report -o week.html"),
    "keywords export": (
        "gossamer keywords export -o words.xlsx",
        "gossamer keywords export -o words.sqlite",
        "gossamer keywords export -o 'valkey://cache/0?list=words:{keyword}' --what pages",
    ),
    "keywords runs": ("gossamer keywords runs", "gossamer keywords runs --json"),
    "rate": ("gossamer rate", "gossamer rate fleet 50", "gossamer rate browser none"),
    "dead list": ("gossamer dead list shop", "gossamer dead list --reason timeout --since 2h"),
    "dead show": ("gossamer dead show https://example.com/a", "gossamer dead show 17 --crawl shop"),
    "dead requeue": (
        "gossamer dead requeue shop --reason http-5xx",
        "gossamer dead requeue shop --host example.com --dry-run",
    ),
    "dead undo": ("gossamer dead undo shop", "gossamer dead undo shop --json"),
    "skipped list": (
        "gossamer skipped shop --reason robots",
        "gossamer skipped list shop --host example.com",
    ),
    "skipped requeue": (
        "gossamer skipped requeue shop --reason depth --as-seeds",
        "gossamer skipped requeue shop --reason robots --dry-run",
    ),
    "dead drop": ("gossamer dead drop shop --reason dns", "gossamer dead drop shop --dry-run"),
    "host show": ("gossamer host show example.com", "gossamer host show example.com:8080 --json"),
    "host pause": ("gossamer host pause example.com", "gossamer host pause example.com --for 2h"),
    "host resume": ("gossamer host resume example.com", "gossamer host resume example.com --json"),
    "host rate": (
        "gossamer host rate example.com 30/m",
        "gossamer host rate shop.py 0.5 --per-host 2",
        "gossamer host rate example.com auto",
    ),
    "host rung": ("gossamer host rung example.com browser", "gossamer host rung example.com auto"),
    "sessions list": ("gossamer sessions list", "gossamer sessions list --json"),
    "sessions forget": ("gossamer sessions forget shop", "gossamer sessions forget shop anna"),
    "schedule add": (
        "gossamer schedule add prices '30 4 * * mon-fri' shop.py -o prices.sqlite",
        "gossamer schedule add news @hourly feed:https://example.com/feed --tz Europe/Berlin -o news.jsonl",
        "gossamer schedule add watch '30 1 * * *' --tz Europe/Berlin prices run targets.csv --within 5h -q",
    ),
    "schedule list": ("gossamer schedule list", "gossamer schedule list --json"),
    "schedule runs": ("gossamer schedule runs watch", "gossamer schedule runs watch --limit 0 --json"),
    "schedule run": ("gossamer schedule run prices", "gossamer schedule run prices --json"),
    "schedule pause": ("gossamer schedule pause prices", "gossamer schedule pause prices --json"),
    "schedule resume": ("gossamer schedule resume prices", "gossamer schedule resume prices --json"),
    "schedule remove": ("gossamer schedule remove prices", "gossamer schedule remove prices --json"),
    "scheduler": ("gossamer scheduler", "gossamer scheduler --at-once 2 --data /var/lib/gossamer"),
    "explain": (
        "gossamer explain https://example.com/a",
        "gossamer explain https://example.com/a --crawl shop --from https://example.com/",
    ),
    "try": (
        "gossamer try https://example.com/product/1 --site shop.py",
        "gossamer try https://example.com/product/1 --site shop.py --use product",
        "gossamer try https://example.com --ladder browser --json",
    ),
    "shell": ("gossamer shell https://example.com", "gossamer shell https://example.com --site shop.py"),
    "new": ("gossamer new https://example.com", "gossamer new shop https://example.com/product/1"),
    "check": (
        "gossamer check shop.py",
        "gossamer check shop.py --update",
        "gossamer check shop.py --pages .gossamer/shop/failed",
    ),
    "reparse": ("gossamer reparse shop", "gossamer reparse shop --site shop.py -o items.jsonl"),
    "items": (
        "gossamer items shop",
        "gossamer items shop --where 'price<10' --limit 20",
        "gossamer items shop --kind Book --json",
    ),
    "attempts": (
        "gossamer attempts shop --status 5xx",
        "gossamer attempts shop --by host",
        "gossamer attempts shop --since 2h --outcome dead",
    ),
    "export": (
        "gossamer export shop items.csv",
        "gossamer export shop attempts.parquet --what attempts --since 1d",
    ),
    "find": (
        "gossamer find slow maps",
        "gossamer find 'slow maps' site:shop.example title:books -sale",
        "gossamer find 'maps OR atlas after:2026-01' --crawl shop --json",
    ),
    "worker": (
        "gossamer worker --store valkey://store:6379 --broker valkey://store:6379/1",
        "gossamer worker --lane browser --processes 2 --sites sites/",
    ),
    "workers list": ("gossamer workers list", "gossamer workers list --json"),
    "workers drain": ("gossamer workers drain web-1", "gossamer workers drain all"),
    "workers stop": ("gossamer workers stop web-1", "gossamer workers stop all"),
    "metrics": (
        "gossamer metrics --port 9464",
        "gossamer metrics --bind 0.0.0.0 --store valkey://store:6379 --log-format json",
        "gossamer metrics --once",
    ),
    "alerts list": ("gossamer alerts list", "gossamer alerts list --rules"),
    "alerts test": ("gossamer alerts test", "gossamer alerts test GossamerStalled --json"),
    "alerts mute": (
        "gossamer alerts mute GossamerDomainBlocked --for 2h",
        "gossamer alerts mute 'GossamerWorkerGone{worker=w1*}'",
    ),
    "alerts unmute": ("gossamer alerts unmute GossamerDomainBlocked", "gossamer alerts unmute 'Gossamer*'"),
    "alerts files": ("gossamer alerts files deploy/", "gossamer alerts files . -s alert_rules=alerts.toml"),
    "clean": ("gossamer clean --dry-run", "gossamer clean --older 30d --crawl shop"),
    "doctor": (
        "gossamer doctor",
        "gossamer doctor --size --hosts 100 --urls 1000000",
        "gossamer doctor --repair --dry-run",
    ),
    "serve": (
        "gossamer serve",
        "gossamer serve --sites sites/ -s allow_private=10.0.0.0/8",
        "gossamer serve --host 0.0.0.0 --token-file tokens.jsonl --store valkey://store:6379/0 -o '/shared/{crawl}/'",
    ),
    "tokens add": (
        "gossamer tokens add --scope admin",
        "gossamer tokens add --scope run --prefix shop- --expires 30d",
    ),
    "tokens list": ("gossamer tokens list", "gossamer tokens list --json"),
    "webhooks add": (
        "gossamer webhooks add https://ops.example/hook",
        "gossamer webhooks add https://ops.example/hook --events crawl.ended --crawls shop-",
        "gossamer webhooks add https://ops.example/hook --secret '${env:HOOK_SECRET}'",
    ),
    "webhooks list": ("gossamer webhooks list", "gossamer webhooks list --json"),
    "webhooks remove": (
        "gossamer webhooks remove 4f2a91c07d5e",
        "gossamer webhooks remove 4f2a91c07d5e --store valkey://store:6379/0",
    ),
    "webhooks dead": ("gossamer webhooks dead 4f2a91c07d5e", "gossamer webhooks dead 4f2a91c07d5e --json"),
    "webhooks resend": (
        "gossamer webhooks resend 4f2a91c07d5e",
        "gossamer webhooks resend 4f2a91c07d5e --event 1790000000000-0",
    ),
    "tokens remove": (
        "gossamer tokens remove 4f2a91c07d5e",
        "gossamer tokens remove 4f2a91c07d5e --token-file team.jsonl",
    ),
    "config show": ("gossamer config show", "gossamer config show --folder shops/"),
    "config schema": ("gossamer config schema", "gossamer config schema > gossamer.schema.json"),
    "version": ("gossamer version", "gossamer version --json"),
}
"""Maps each command to two or three examples. A user can run an example after replacing the names of hosts,
files and crawls in the example."""
