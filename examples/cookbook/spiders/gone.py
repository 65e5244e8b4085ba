import scrapy


class GoneSpider(scrapy.Spider):
    name = "gone"
    start_urls = ["http://127.0.0.1:8000/offers/"]
    handle_httpstatus_list = [404, 410]

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse_offer)

    def parse_offer(self, response):
        if response.status in (404, 410):
            yield {"path": response.url.partition("8000")[2], "gone": response.status}
        else:
            yield {"path": response.url.partition("8000")[2], "title": response.css("h1::text").get()}
