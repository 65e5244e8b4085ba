import scrapy


class ApiSpider(scrapy.Spider):
    name = "api"
    start_urls = ["http://127.0.0.1:8000/api/?page=1"]

    def parse(self, response):
        data = response.json()
        for item in data["items"]:
            yield {"id": item["id"], "name": item["name"], "price": item["price"]["amount"]}
        if data["next"]:
            yield response.follow(data["next"])
