import scrapy


class BooksSpider(scrapy.Spider):
    name = "books"
    start_urls = ["http://127.0.0.1:8000/books/"]

    def parse(self, response):
        yield from response.follow_all(css="h3 a", callback=self.parse_book)
        yield from response.follow_all(css="li.next a")

    def parse_book(self, response):
        yield {
            "title": response.css("h1::text").get(),
            "upc": response.css(".upc::text").get(),
            "price": float(response.css(".price::text").re_first(r"[\d.]+")),
        }
