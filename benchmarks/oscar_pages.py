"""Renders pages of a real django-oscar with a large catalogue: `python benchmarks/oscar_pages.py FOLDER PAGES`.

The program needs `tests` and the packages of `.sites/django-oscar` in PYTHONPATH. It writes each page to
`FOLDER/PATH/index.html`. A quarter of the pages are categories, and the others are products. As in large shops,
each page contains a menu of all categories, and each product has a long description, attributes, reviews and
recommended products. The same packages always render the same bytes.
"""

from __future__ import annotations

import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support import oscar_shop

DEPARTMENTS, CATEGORIES_EACH = 14, 9
MENU = """{% extends "oscar/partials/nav_primary.html" %}{% load category_tags %}{% block nav_items %}
<li class="nav-item mega-menu"><ul class="list-unstyled row">{% category_tree depth=2 as categories %}
{% for category in categories %}<li class="nav-item col-md-3 level-{{ category.depth }}">
  <a class="dropdown-item" href="{{ category.url }}" title="{{ category.name }}"><span class="menu-label">{{ category.name }}</span></a>
</li>{% endfor %}</ul></li>{% endblock %}"""
VARYING = (
    (rb'(name="csrfmiddlewaretoken" value=")[^"]*', rb"\1" + b"0" * 64),
    (rb'(<meta name="created" content=")[^"]*', rb"\g<1>1st Nov 2026 12:00"),
)
"""The parts of a page that differ from one request to the next, with their replacements."""


def description(fake: Any) -> str:
    """Returns about 10 KB of HTML in the style of a manufacturer."""
    sections = []
    for _ in range(5):
        points = "".join(f"<li><strong>{fake.word()}</strong>: {fake.sentence(14)}</li>" for _ in range(6))
        text = "".join(f"<p>{fake.paragraph(6)}</p>" for _ in range(2))
        sections.append(
            f'<section class="feature"><h3>{fake.catch_phrase()}</h3>{text}<ul>{points}</ul></section>'
        )
    return "".join(sections)


def fill(products: int) -> None:
    """Creates the tables, the tree of categories, and the products."""
    from django.core.management import call_command
    from faker import Faker
    from oscar.apps.catalogue.categories import create_from_breadcrumbs
    from oscar.core.loading import get_model

    fake = Faker("en_US")
    fake.seed_instance(7)
    call_command("migrate", run_syncdb=True, verbosity=0)
    partner = get_model("partner", "Partner").objects.create(name="Warehouse", code="w")
    kind = get_model("catalogue", "ProductClass").objects.create(name="Goods")
    names = [fake.unique.word() for _ in range(24)]
    attributes = [
        kind.attributes.create(name=f"{name.title()} of the product", code=name.lower(), type="text")
        for name in names
    ]
    departments = [f"{fake.unique.word()} and {fake.unique.word()}".title() for _ in range(DEPARTMENTS)]
    categories = [
        create_from_breadcrumbs(f"{department} > {fake.unique.bs().title()}")
        for department in departments
        for _ in range(CATEGORIES_EACH)
    ]
    made: list[Any] = []
    for number in range(products):
        title = f"{fake.catch_phrase()} {number:04}"
        product = get_model("catalogue", "Product").objects.create(
            title=title, upc=f"20000{number:04}", product_class=kind, description=description(fake)
        )
        product.categories.add(categories[number % len(categories)])
        price = fake.pydecimal(left_digits=3, right_digits=2, positive=True)
        product.stockrecords.create(
            partner=partner,
            partner_sku=str(number),
            price=price,
            price_currency="GBP",
            num_in_stock=number % 7,
        )
        get_model("catalogue", "ProductAttributeValue").objects.bulk_create(
            product.attribute_values.model(product=product, attribute=attribute, value_text=fake.sentence(5))
            for attribute in attributes
        )
        for other in made[-6:]:
            product.recommended_products.through.objects.create(primary=product, recommendation=other)
        made.append(product)
        for _ in range(4):
            review = product.reviews.create(
                title=fake.sentence(4),
                body=fake.paragraph(9),
                score=fake.random_int(1, 5),
                name=fake.name(),
                email="a@b.test",
            )
            type(review).objects.filter(pk=review.pk).update(
                date_created=datetime(2026, 11, 1, tzinfo=UTC), status=1
            )
        product.update_rating()


def main(folder: Path, pages: int) -> None:
    """Renders the pages."""
    with tempfile.TemporaryDirectory() as scratch:
        menu = Path(scratch, "templates/oscar/partials/nav_primary.html")
        menu.parent.mkdir(parents=True)
        menu.write_text(MENU)
        oscar_shop.TEMPLATES[0]["DIRS"] = [f"{scratch}/templates"]
        oscar_shop.configure(Path(scratch))
        from django.test import Client
        from oscar.apps.partner import strategy
        from oscar.core.loading import get_model

        strategy.Selector.strategy = lambda self, request=None, user=None, **more: strategy.UK(request)
        fill(pages - pages // 4)
        client = Client(HTTP_HOST="127.0.0.1")
        categories = get_model("catalogue", "Category").objects.all()[: pages // 4]
        for one in (*categories, *get_model("catalogue", "Product").objects.order_by("pk")):
            path = one.get_absolute_url()
            client.cookies.clear()
            body = client.get(path).content
            for pattern, constant in VARYING:
                body = re.sub(pattern, constant, body)
            (folder / path.strip("/")).mkdir(parents=True)
            (folder / path.strip("/") / "index.html").write_bytes(body)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
