import scrapy


class ArgumentsSpider(scrapy.Spider):
    name = "arguments"

    def __init__(self, categories="poetry", **kwargs):
        super().__init__(**kwargs)
        self.categories = categories.split(",")

    async def start(self):
        for category in self.categories:
            yield scrapy.Request(f"http://127.0.0.1:8000/categories/{category}")

    def parse(self, response):
        for title in response.css("li:not(.next)::text").getall():
            yield {"title": title}
        yield from response.follow_all(css="li.next a")
