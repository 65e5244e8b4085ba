import scrapy


class SharedSpider(scrapy.Spider):
    name = "shared"
    start_urls = ["http://127.0.0.1:8000/shelves/"]

    def parse(self, response):
        yield from response.follow_all(css="a.shelf", callback=self.parse_shelf)

    def parse_shelf(self, response):
        shelf = response.url.rpartition("/")[2]
        yield from response.follow_all(
            css="a.book", callback=self.parse_book, cb_kwargs={"shelf": shelf}, dont_filter=True
        )

    def parse_book(self, response, shelf):
        yield {"shelf": shelf, "title": response.css("h1::text").get()}
