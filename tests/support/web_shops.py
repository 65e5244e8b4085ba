"""Shops on loopback, in the markup of eight shop systems. Each shop has its own data, and a wall that blocks
clients that are too fast. The tests and benchmarks/price_run.py use them."""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

CURRENCIES = ("EUR", "USD", "GBP", "CHF", "PLN", "SEK", "CAD", "JPY")
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "CHF": "CHF", "PLN": "zł", "SEK": "kr", "CAD": "CA$", "JPY": "¥"}
WORDS = [
    "Amber",
    "Basalt",
    "Cedar",
    "Delta",
    "Ember",
    "Fjord",
    "Granite",
    "Harbor",
    "Indigo",
    "Juniper",
    "Kelp",
    "Lumen",
    "Maple",
    "Nimbus",
    "Onyx",
]
THINGS = ["Kettle", "Lamp", "Backpack", "Drill", "Chair", "Speaker", "Bottle", "Keyboard", "Jacket", "Tripod"]


@dataclass
class Product:
    """A product according to the shop's own data."""

    number: int
    name: str
    sku: str
    price: Decimal
    was: Decimal | None = None
    in_stock: bool = True
    is_gone: bool = False


@dataclass
class Shop:
    """A shop. `wall` is the minimum time between two requests, in seconds. `requests` and `violations` are
    counts."""

    system: str
    currency: str
    products: dict[str, Product]
    wall: float = 0.0
    has_tags: bool = False
    is_down: bool = False
    requests: int = 0
    violations: int = 0
    url: str = ""
    menu: int = 0
    """The number of links in the menu of each page. A hundred links are about 10 KB."""
    surroundings: tuple[str, str, str] = ("", "", "")
    """Further markup of each page: in its head, before the product, and after the product."""
    last: float = -1e9
    paths: list[str] = field(default_factory=list)
    extra: dict[str, str] = field(default_factory=dict)
    """Further pages, keyed by path."""
    redirects: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Redirects, keyed by path: the status and the target."""

    def address(self, path: str) -> str:
        return self.url + path

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, str, bytes]:
        """Returns the status, further headers, and the body."""
        now = time.monotonic()
        self.requests += 1
        self.paths.append(path)
        too_fast, self.last = now - self.last < self.wall, now
        if too_fast:
            self.violations += 1
            return 403, "", b"<title>Access denied</title><h1>Too many requests</h1>"
        if self.is_down:
            return 200, "", b"<title>Maintenance</title><h1>We will be back soon</h1>"
        product = self.products.get(path)
        if path == "/robots.txt":
            return 200, "", b"User-agent: *\nDisallow: /checkout\n"
        if path in self.redirects:
            status, to = self.redirects[path]
            return status, f"Location: {to}\r\n", b""
        if path in self.extra:
            return 200, "", self.extra[path].encode()
        if product is None or product.is_gone:
            return 404, "", b"<title>Not found</title><h1>Not found</h1>"
        tag = f'"{hash((product.price, product.was, product.in_stock))}"'
        if self.has_tags and headers.get("if-none-match") == tag:
            return 304, f"ETag: {tag}\r\n", b""
        body = page_of(self, product).encode()
        return 200, f"ETag: {tag}\r\n" if self.has_tags else "", body


def money(amount: Decimal, currency: str) -> str:
    """Formats an amount as shops of that currency do."""
    if currency == "JPY":
        return f"¥{amount:,.0f}"
    if currency in ("USD", "GBP", "CAD"):
        return f"{SIGNS[currency]}{amount:,.2f}"
    plain = f"{amount:,.2f}".replace(",", " ").replace(".", ",")
    return f"{plain} {SIGNS[currency]}"


def _ld(shop: Shop, one: Product) -> str:
    stock = "InStock" if one.in_stock else "OutOfStock"
    offer = {
        "@type": "Offer",
        "price": str(one.price),
        "priceCurrency": shop.currency,
        "availability": f"https://schema.org/{stock}",
    }
    data = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": one.name,
        "sku": one.sku,
        "offers": offer,
    }
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def _woocommerce(shop: Shop, one: Product) -> str:
    now = f'<span class="woocommerce-Price-amount amount"><bdi>{money(one.price, shop.currency)}</bdi></span>'
    old = (
        f'<del><span class="amount"><bdi>{money(one.was, shop.currency)}</bdi></span></del>'
        if one.was
        else ""
    )
    stock = "in-stock" if one.in_stock else "out-of-stock"
    return (
        f'{_ld(shop, one)}<div class="product type-product"><h1 class="product_title entry-title">{one.name}</h1>'
        f'<p class="price">{old}<ins>{now}</ins></p><p class="stock {stock}">'
        f"{'In stock' if one.in_stock else 'Out of stock'}</p>"
        f'<span class="sku_wrapper">SKU: <span class="sku">{one.sku}</span></span></div>'
    )


def _shopify(shop: Shop, one: Product) -> str:
    metas = (
        f'<meta property="og:type" content="product"><meta property="og:title" content="{one.name}">'
        f'<meta property="product:price:amount" content="{one.price}">'
        f'<meta property="product:price:currency" content="{shop.currency}">'
    )
    return (
        f'{metas}{_ld(shop, one)}<h1 class="product__title">{one.name}</h1><div class="price">'
        f'<span class="price-item price-item--regular">{money(one.price, shop.currency)}</span></div>'
        f'<button name="add"{"" if one.in_stock else " disabled"}>{"Add to cart" if one.in_stock else "Sold out"}</button>'
    )


def _magento(shop: Shop, one: Product) -> str:
    stock = "InStock" if one.in_stock else "OutOfStock"
    return (
        '<div itemscope itemtype="http://schema.org/Product" class="product-info-main">'
        f'<h1 class="page-title"><span itemprop="name">{one.name}</span></h1>'
        f'<div class="product attribute sku"><div class="value" itemprop="sku">{one.sku}</div></div>'
        '<div class="product-info-price" itemprop="offers" itemscope itemtype="http://schema.org/Offer">'
        f'<span data-price-amount="{one.price}" data-price-type="finalPrice" class="price-wrapper">'
        f'<span class="price">{money(one.price, shop.currency)}</span></span>'
        f'<meta itemprop="price" content="{one.price}"><meta itemprop="priceCurrency" content="{shop.currency}">'
        f'<link itemprop="availability" href="http://schema.org/{stock}"></div></div>'
    )


def _prestashop(shop: Shop, one: Product) -> str:
    label = "In Stock" if one.in_stock else "Out-of-Stock"
    return (
        f'<meta property="product:price:amount" content="{one.price}">'
        f'<meta property="product:price:currency" content="{shop.currency}">{_ld(shop, one)}'
        f'<h1 class="h1">{one.name}</h1><div class="product-prices"><div class="current-price">'
        f'<span class="current-price-value" content="{one.price}">{money(one.price, shop.currency)}</span></div></div>'
        f'<span id="product-availability">{label}</span>'
    )


def _json_ld(shop: Shop, one: Product) -> str:
    return f"{_ld(shop, one)}<h1>{one.name}</h1><p>Ask our advisers about this product.</p>"


def _microdata(shop: Shop, one: Product) -> str:
    stock = "InStock" if one.in_stock else "OutOfStock"
    return (
        f'<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">{one.name}</h1>'
        f'<span itemprop="sku">{one.sku}</span><div itemprop="offers" itemscope itemtype="https://schema.org/Offer">'
        f'<span itemprop="price" content="{one.price}">{money(one.price, shop.currency)}</span>'
        f'<meta itemprop="priceCurrency" content="{shop.currency}">'
        f'<link itemprop="availability" href="https://schema.org/{stock}"></div></div>'
    )


def _script(shop: Shop, one: Product) -> str:
    state = {
        "product": {"name": one.name, "sku": one.sku, "price": float(one.price), "currency": shop.currency}
    }
    state["product"]["availability"] = "InStock" if one.in_stock else "OutOfStock"
    offer = {"@type": "Product", "name": one.name, "sku": one.sku, "offers": {"@type": "Offer"}}
    offer["offers"] |= {"price": float(one.price), "priceCurrency": shop.currency}  # type: ignore[operator]
    offer["offers"]["availability"] = state["product"]["availability"]  # type: ignore[index]
    return (
        f'<div id="app"><h1>{one.name}</h1></div><script>window.__STATE__ = {json.dumps(state)};'
        f"document.getElementById('app').dataset.product = JSON.stringify({json.dumps(offer)});</script>"
        f'<script type="application/ld+json">{{"@graph": [{json.dumps(offer)}]}}</script>'
    )


def _table(shop: Shop, one: Product) -> str:
    stock = "In stock" if one.in_stock else "Out of stock"
    return (
        f'<h1>{one.name}</h1><table class="product-details"><tr><th>Item no.</th><td>{one.sku}</td></tr>'
        f'<tr><th>Price</th><td class="price">{money(one.price, shop.currency)}</td></tr>'
        f"<tr><th>Availability</th><td>{stock}</td></tr></table>"
    )


SYSTEMS: dict[str, Callable[[Shop, Product], str]] = {
    "woocommerce": _woocommerce,
    "shopify": _shopify,
    "magento": _magento,
    "prestashop": _prestashop,
    "json-ld": _json_ld,
    "microdata": _microdata,
    "script": _script,
    "table": _table,
}


def page_of(shop: Shop, one: Product) -> str:
    """Returns a page that contains a product among navigation, related products, and ads in random order."""
    ads = [
        f'<li class="related-product"><a href="/p/{n}">{random.choice(WORDS)}</a> <b>{n}.50</b></li>'
        for n in random.sample(range(900, 1000), 4)
    ]
    body = SYSTEMS[shop.system](shop, one)
    head, before, after = shop.surroundings
    links = "".join(
        f'<li class="menu-item level-{n % 3}"><a href="/category/{n}/">{WORDS[n % len(WORDS)]} {n}</a></li>'
        for n in range(shop.menu)
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(one.name)} | Shop</title>'
        f'{head}</head><body><nav><a href="/">Home</a><a href="/cart">Cart (0)</a><ul>{links}</ul></nav>{before}'
        f'<main>{body}</main><aside class="related"><h2>You may also like</h2><ul>{"".join(ads)}</ul></aside>{after}'
        "<footer>Free delivery from 50</footer></body></html>"
    )


def make_shop(number: int, products: int, wall: float = 0.0) -> Shop:
    """Returns the shop with a given number, which determines its system, currency and products."""
    rng = random.Random(number)
    system = list(SYSTEMS)[number % len(SYSTEMS)]
    currency = CURRENCIES[(number * 5 + number // 8) % len(CURRENCIES)]
    made = {}
    for n in range(products):
        cents = rng.randrange(300, 250_000)
        amount = Decimal(cents) if currency == "JPY" else Decimal(cents) / 100
        made[f"/p/{n}"] = Product(
            n,
            f"{rng.choice(WORDS)} {rng.choice(THINGS)} {100 + n}",
            f"S{number:02}-{1000 + n}",
            amount,
            was=(amount * 2).quantize(amount) if rng.random() < 0.2 and system == "woocommerce" else None,
            in_stock=rng.random() < 0.8,
        )
    return Shop(system, currency, made, wall=wall, has_tags=bool(number % 2))


@contextlib.contextmanager
def serving(shops: list[Shop]) -> Iterator[list[Shop]]:
    """Serves the shops, each on a port of its own, from a thread with its own event loop."""
    ready, loop, end = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        servers = []
        for shop in shops:
            server = await asyncio.start_server(partial(_connection, shop), "127.0.0.1", 0)
            shop.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            servers.append(server)
        ready.set()
        await end.wait()
        for server in servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    thread = threading.Thread(target=lambda: _run(loop, serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield shops
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()


def _run(loop: asyncio.AbstractEventLoop, serve: Coroutine[None, None, None]) -> None:
    asyncio.set_event_loop(loop)
    loop.run_until_complete(serve)
    loop.close()


async def _connection(shop: Shop, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
            status, more, body = shop.answer(lines[0].split()[1], headers)
            kind = "text/plain" if lines[0].split()[1] == "/robots.txt" else "text/html; charset=utf-8"
            more += "" if status == 304 else f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"HTTP/1.1 {status} x\r\n{more}\r\n".encode() + body)
            await writer.drain()


def write_list(path: str, shops: list[Shop]) -> None:
    """Writes the list of all products as CSV."""
    with open(path, "w") as file:
        file.write("url,key,shop,currency\n")
        for number, shop in enumerate(shops):
            for where, product in shop.products.items():
                file.write(f"{shop.address(where)},{product.sku},shop{number},{shop.currency}\n")
