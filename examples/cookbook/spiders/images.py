import scrapy


class ImagesSpider(scrapy.Spider):
    name = "images"
    start_urls = ["http://127.0.0.1:8000/images/"]
    custom_settings = {
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": "files",
    }

    def parse(self, response):
        for book in response.css("article"):
            yield {
                "title": book.css("h2::text").get(),
                "file_urls": [response.urljoin(book.css("img::attr(src)").get())],
            }
        yield from response.follow_all(css="li.next a")
