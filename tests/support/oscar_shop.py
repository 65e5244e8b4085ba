"""A real django-oscar (PyPI) with its own products, as a program: `python -m support.oscar_shop FOLDER`.

The program needs the packages of `.sites/django-oscar` in PYTHONPATH (`./test` installs them). It creates
`FOLDER/shop.sqlite3`, prints the shop's URL on stdout, and serves the shop until stdin is closed. The shop
adds 20 % tax to the prices in its database, as oscar's strategy for the United Kingdom does.
"""

from __future__ import annotations

import sys
import threading
from decimal import Decimal
from pathlib import Path
from socketserver import ThreadingMixIn
from types import SimpleNamespace
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

APPS = (
    *(
        "analytics",
        "checkout",
        "address",
        "shipping",
        "catalogue",
        "catalogue.reviews",
        "communication",
        "partner",
    ),
    *("basket", "payment", "offer", "order", "customer", "search", "voucher", "wishlists", "dashboard"),
)
DASHBOARDS = (
    *(
        "reports",
        "users",
        "orders",
        "catalogue",
        "offers",
        "partners",
        "pages",
        "ranges",
        "reviews",
        "vouchers",
    ),
    *("communications", "shipping"),
)
PRODUCTS = (
    # name, price without tax, currency, stock (None: not tracked for the product's class), category
    ("Copper Kettle", "24.17", "GBP", 12, "Kitchen"),
    ("Cast Iron Pan", "8.32", "GBP", 3, "Kitchen"),
    ("Steel Whisk", "0.83", "GBP", 0, "Kitchen"),
    ("Walnut Chopping Board", "1249.00", "GBP", 1, "Kitchen"),
    ("Linen Tablecloth", "33.29", "EUR", 7, "Home > Textiles"),
    ("Wool Blanket", "119.99", "EUR", 0, "Home > Textiles"),
    ("Brass Desk Lamp", "10412.50", "GBP", 2, "Home > Lamps"),
    ("Paper Lantern", "4.58", "USD", 40, "Home > Lamps"),
    ("Gift Card", "20.83", "GBP", None, "Gifts"),
    ("Old Almanac", None, "GBP", None, "Gifts"),  # without a stock record
)
SIZES = (("Small", "15.00", 4), ("Medium", "16.25", 0), ("Large", "17.50", 9))
"""The variants of one product: name, price without tax, and stock."""

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.search.context_processors.search_form",
                "oscar.apps.checkout.context_processors.checkout",
                "oscar.apps.communication.notifications.context_processors.notifications",
                "oscar.core.context_processors.metadata",
            ]
        },
    }
]


def configure(folder: Path) -> None:
    """Sets up Django with oscar as a shop on SQLite, with oscar's default templates."""
    import django
    from django.conf import settings
    from oscar import defaults

    settings.configure(
        **{name: value for name, value in vars(defaults).items() if name.startswith("OSCAR_")}
        | {"OSCAR_THUMBNAILER": f"{__name__}.Thumbnails"},
        SECRET_KEY="only for tests",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        SITE_ID=1,
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        STATIC_URL="/static/",
        MEDIA_URL="/media/",
        MEDIA_ROOT=str(folder / "media"),
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "shop.sqlite3")},
        },
        HAYSTACK_CONNECTIONS={
            "default": {
                "ENGINE": "haystack.backends.whoosh_backend.WhooshEngine",
                "PATH": str(folder / "index"),
            }
        },
        MIGRATION_MODULES=NoMigrations(),
        INSTALLED_APPS=[
            *(f"django.contrib.{name}" for name in ("admin", "auth", "contenttypes", "sessions", "messages")),
            *(f"django.contrib.{name}" for name in ("staticfiles", "sites", "flatpages")),
            "oscar.config.Shop",
            *(f"oscar.apps.{name}.apps.{name.title().replace('.', '')}Config" for name in APPS),
            *(f"oscar.apps.dashboard.{name}.apps.{name.title()}DashboardConfig" for name in DASHBOARDS),
            *("widget_tweaks", "haystack", "treebeard", "django_tables2"),
        ],
        MIDDLEWARE=MIDDLEWARE,
        TEMPLATES=TEMPLATES,
    )
    django.setup()


class NoMigrations:
    """Makes Django create the tables directly from the models, without oscar's long history of migrations."""

    def __contains__(self, app: str) -> bool:
        return True

    def __getitem__(self, app: str) -> None:
        return None


class Thumbnails:
    """A thumbnailer that creates no files."""

    def generate_thumbnail(self, source: Any, **options: Any) -> SimpleNamespace:
        return SimpleNamespace(url="/static/picture.jpg", width=100, height=100)


def fill() -> None:
    """Creates the tables, and the products in their categories."""
    from django.core.management import call_command
    from oscar.apps.catalogue.categories import create_from_breadcrumbs
    from oscar.core.loading import get_model

    call_command("migrate", run_syncdb=True, verbosity=0)
    partner = get_model("partner", "Partner").objects.create(name="Warehouse", code="w")
    kinds = {
        tracked: get_model("catalogue", "ProductClass").objects.create(
            name="Goods" if tracked else "Services", track_stock=tracked, requires_shipping=tracked
        )
        for tracked in (True, False)
    }
    products = get_model("catalogue", "Product").objects
    for number, (name, price, currency, stock, category) in enumerate(PRODUCTS):
        kind = kinds[stock is not None]
        made = products.create(
            title=name, upc=f"20000{number:03}", product_class=kind, description=f"The {name}."
        )
        made.categories.add(create_from_breadcrumbs(category))
        if price is not None:
            _stock(partner, made, price, currency, stock)
    parent = products.create(title="Rain Jacket", structure="parent", product_class=kinds[True])
    parent.categories.add(create_from_breadcrumbs("Clothes"))
    for name, price, stock in SIZES:
        child = products.create(title=f"Rain Jacket {name}", structure="child", parent=parent)
        _stock(partner, child, price, "GBP", stock)
    call_command("rebuild_index", interactive=False, verbosity=0)


def _stock(partner: Any, product: Any, price: str, currency: str, stock: int | None) -> None:
    product.stockrecords.create(
        partner=partner,
        partner_sku=f"SKU-{product.pk}",
        price=Decimal(price),
        price_currency=currency,
        num_in_stock=stock,
    )


class Server(ThreadingMixIn, WSGIServer):
    """A server with one thread per connection."""

    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def __getattr__(name: str) -> Any:
    """The URLs of the shop. They cannot be built before Django is set up."""
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.apps import apps
    from django.urls import include, path

    return [
        path("i18n/", include("django.conf.urls.i18n")),
        path("", include(apps.get_app_config("oscar").urls[0])),
    ]


def main(folder: Path) -> None:
    configure(folder)
    from django.core.wsgi import get_wsgi_application
    from oscar.apps.partner import strategy

    fill()
    strategy.Selector.strategy = lambda self, request=None, user=None, **more: strategy.UK(request)
    server = make_server("127.0.0.1", 0, get_wsgi_application(), Server, Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    sys.modules["support.oscar_shop"] = sys.modules["__main__"]
    main(Path(sys.argv[1]))
