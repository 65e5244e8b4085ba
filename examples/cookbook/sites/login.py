from gossamer import Login, Site

site = Site(
    "login",
    seeds=["http://127.0.0.1:8000/members/1"],
    session=Login(
        "http://127.0.0.1:8000/members/login",
        {"user": "reader", "password": "${env:PASSWORD}"},
        shows="a[href='/members/logout']",
    ),
)


@site.page()
def members(page):
    for row in page.css("li.row::text").getall():
        yield {"row": row}
    yield from page.follow("li.next a")
